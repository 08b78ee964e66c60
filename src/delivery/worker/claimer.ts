import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Clock } from '../../common/clock';
import { Database } from '../../database/database.service';
import type { ClaimedDelivery } from '../ports/delivery';
import { OutcomeSink, type RecordedOutcome } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import type { ClaimInput, DestinationLimits } from '../queue/sql/claim-deliveries.sql';
import type { FreedDelivery } from '../queue/sql/worker-sessions.sql';
import { NIL_ID } from '../../common/ids';

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';
/** Organizations whose place among their destinations is remembered; the others begin anywhere. */
const MAX_CURSORS = 1_000;
/** A claim serves 32 organizations; some of these may have nothing ready. */
const CURSORS_PER_CLAIM = 64;

/** Takes due work for a session, in turn among organizations, and takes it back from dead ones; records either. */
@Injectable()
export class Claimer {
  private afterOrganizationId = NIL_ID;
  /** The destination that each organization was served last, so that those late in the alphabet have their turn too. */
  private readonly cursors = new LRUCache<string, string>({ max: MAX_CURSORS });

  constructor(
    private readonly database: Database,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeSink,
    private readonly clock: Clock,
  ) {}

  /** @throws UnavailableError */
  async claim(
    sessionId: string,
    limit: number,
    blocked: readonly string[],
    limits?: DestinationLimits,
  ): Promise<ClaimedDelivery[]> {
    const claimed = await this.claimFrom({ sessionId, limit, blockedDestinations: blocked, destinationLimits: limits });
    if (claimed.length === 0 && this.afterOrganizationId !== NIL_ID) {
      // The round is over: begin the next one.
      this.afterOrganizationId = NIL_ID;
      return this.claimFrom({ sessionId, limit, blockedDestinations: blocked, destinationLimits: limits });
    }
    this.afterOrganizationId = lastOrganization(claimed) ?? NIL_ID;
    for (const { organizationId, destination } of claimed) this.cursors.set(organizationId, destination);
    return claimed;
  }

  private claimFrom(wanted: Pick<ClaimInput, 'sessionId' | 'limit' | 'blockedDestinations' | 'destinationLimits'>) {
    const now = this.clock.now();
    const input = {
      ...wanted,
      afterOrganizationId: this.afterOrganizationId,
      destinationPivot: randomLetter() + randomLetter(),
      destinationCursors: this.cursorsAfter(this.afterOrganizationId),
      now,
    };
    return this.database.transaction(async (tx) => {
      const claimed = await this.queue.claim(input, tx);
      const first = claimed.filter((delivery) => delivery.attempt === 1);
      await this.outcomes.record(
        first.map((delivery) => asSending(delivery, now)),
        tx,
      );
      return claimed;
    });
  }

  /** Frees claims of sessions whose lease has ended; the events say that a mail may have gone out unnoticed. */
  freeDead(limit: number): Promise<number> {
    return this.database.transaction(async (tx) => {
      const freed = await this.queue.reap(limit, tx);
      const now = this.clock.now();
      await this.outcomes.record(
        freed.map((delivery) => asWorkerLost(delivery, now)),
        tx,
      );
      return freed.length;
    });
  }

  private cursorsAfter(organizationId: string): Map<string, string> {
    const next = [...this.cursors.entries()].filter(([id]) => id > organizationId);
    return new Map(next.sort(([one], [other]) => (one < other ? -1 : 1)).slice(0, CURSORS_PER_CLAIM));
  }
}

function asSending(delivery: ClaimedDelivery, occurredAt: Date): RecordedOutcome {
  const { organizationId, mode, emailId, position, domainId, recipient } = delivery;
  const key = { organizationId, mode, emailId, position };
  return { ...key, domainId, recipient, outcome: { kind: 'sending' }, source: 'worker', occurredAt };
}

function asWorkerLost(delivery: FreedDelivery, now: Date): RecordedOutcome {
  const outcome = { kind: 'unknown', nextAttemptAt: now, reason: 'worker_lost' } as const;
  return { ...delivery, outcome, source: 'system', occurredAt: now };
}

function lastOrganization(claimed: readonly ClaimedDelivery[]): string | undefined {
  return claimed.reduce<string | undefined>(
    (last, { organizationId }) => (last === undefined || organizationId > last ? organizationId : last),
    undefined,
  );
}

function randomLetter(): string {
  return ALPHABET.charAt(Math.floor(Math.random() * ALPHABET.length));
}
