import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Clock, HOUR, MINUTE, SECOND } from '../../common/clock';
import { DELIVERY_LIFE_MS, jitter } from '../policy/retry-schedule';
import { expiry } from '../policy/transmission-result';
import { ALONE_CRASHES, type ClaimedDelivery, POISON_CRASHES } from '../ports/delivery';
import { MessageSource } from '../ports/message-source';
import { OrdinalSource, SENDING_PAUSED, SigningKeySource } from '../ports/sender-sources';
import type { DeliveryOutcome } from '../ports/outcome';
import { ByteBudget } from './byte-budget';
import { MessageComposer, type PreparedMessage } from './message-composer';

const POISON = {
  kind: 'failed',
  reason: 'poison',
  detail:
    `${POISON_CRASHES} workers died while they held this mail, ` +
    `the last ${POISON_CRASHES - ALONE_CRASHES} while they tried it alone`,
} as const;

type Ending = Extract<DeliveryOutcome, { kind: 'failed' | 'bounced' } | { nextAttemptAt: Date }>;

/** A message to transmit, or what is to be done instead. */
export type Prepared =
  | { readonly kind: 'message'; readonly message: PreparedMessage }
  | { readonly kind: 'ending'; readonly ending: Ending }
  /** Test mode: no message is needed. */
  | { readonly kind: 'simulation' }
  /** Nothing that the sender or the receiver did. */
  | { readonly kind: 'fault'; readonly error: Error };

/** Of small bodies, as they are stored, in one claim. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** A commit over several nodes that was interrupted is completed within a minute, by the cluster's own recovery; ten are ample. */
const LATE_COMMIT_MS = 10 * MINUTE;
const LATE_COMMIT_RETRY_MS = 15 * SECOND;
/** What composing a small message takes for each byte, in the budget. */
const COST_PER_BYTE = 6;

/** Mails of a claim that go on in one turn of the event loop: a hundred at once kept all else waiting for 20 ms. */
export const IN_A_TURN = 16;

/** From claims to bytes: who is still to be written to, what the mail says, and its signature. */
@Injectable()
export class MessagePreparer {
  constructor(
    private readonly messages: MessageSource,
    private readonly keys: SigningKeySource,
    private readonly ordinals: OrdinalSource,
    private readonly composer: MessageComposer,
    private readonly budget: ByteBudget,
    private readonly clock: Clock,
  ) {}

  /** One look-up each for messages, keys and suppressions, however many claims. @throws UnavailableError */
  async prepare(claims: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, Prepared>> {
    const prepared = new Map<ClaimedDelivery, Prepared>();
    const open = claims.filter((claim) => {
      const ending = this.endingOf(claim);
      if (ending) prepared.set(claim, { kind: 'ending', ending });
      return !ending;
    });
    const batch = await this.load(open);
    for (const [at, claim] of open.entries()) {
      if (at > 0 && at % IN_A_TURN === 0) await nextTurn();
      prepared.set(claim, this.prepareOne(claim, batch));
    }
    return prepared;
  }

  private async load(claims: readonly ClaimedDelivery[]) {
    const live = claims.filter((claim) => claim.mode === 'live');
    const organizationIds = [...new Set(live.map((claim) => claim.organizationId))];
    const [messages, keys, ordinals, blocked] = await Promise.all([
      this.messages.load([...new Map(live.map((claim) => [claim.emailId, claim])).values()], this.bodyRoom()),
      this.keys.keysFor([...new Map(live.map((claim) => [claim.domainId, claim])).values()]),
      this.ordinals.ordinalsOf(organizationIds),
      this.messages.findBlocked(claims),
    ]);
    return { messages, keys, ordinals, blocked };
  }

  private bodyRoom(): number {
    return Math.min(MAX_BODY_BYTES, this.budget.aheadRoom / COST_PER_BYTE);
  }

  private endingOf(claim: ClaimedDelivery): Ending | undefined {
    const now = this.clock.now().getTime();
    if (claim.crashes >= POISON_CRASHES) return POISON;
    // The claim has counted an attempt that is not made.
    const explanation = expiry(claim.attempt - 1, { wasHeld: claim.wasHeld });
    if (claim.expiresAt && claim.expiresAt.getTime() <= now) return { kind: 'failed', reason: 'expired', explanation };
    if (claim.firstDueAt.getTime() + DELIVERY_LIFE_MS > now) return undefined;
    return { kind: 'bounced', bounceType: 'soft', suppress: false, reason: 'retries exhausted', explanation };
  }

  private prepareOne(claim: ClaimedDelivery, batch: Awaited<ReturnType<MessagePreparer['load']>>): Prepared {
    const reason = batch.blocked.get(claim);
    if (reason !== undefined) return end({ kind: 'failed', reason: 'blocked', detail: reason });
    // The simulator reads no message.
    if (claim.mode === 'test') return { kind: 'simulation' };
    const message = batch.messages.get(claim.emailId);
    if (!message) return end(this.withoutContent(claim));
    const key = batch.keys.get(claim.domainId);
    const ordinal = batch.ordinals.get(claim.organizationId);
    if (key === SENDING_PAUSED) return end(this.hold());
    if (key instanceof Error) return { kind: 'fault', error: key };
    if (!key || ordinal === undefined) return end({ kind: 'failed', reason: 'domain_removed' });
    return { kind: 'message', message: this.composer.prepare({ claim, message, key, ordinal }) };
  }

  /** Where emails are on several nodes, one of them may show its part of a commit later than the queue's does. */
  private withoutContent({ firstDueAt }: ClaimedDelivery): Ending {
    const nowMs = this.clock.now().getTime();
    if (nowMs - firstDueAt.getTime() >= LATE_COMMIT_MS) return { kind: 'failed', reason: 'content_unavailable' };
    const nextAttemptAt = new Date(nowMs + LATE_COMMIT_RETRY_MS);
    return { kind: 'deferred', nextAttemptAt, reason: 'content_unavailable' };
  }

  /** For about an hour, spread so that a resumption does not begin with a stampede. */
  private hold(): Ending {
    const holdMs = HOUR * jitter(Math.random);
    return { kind: 'deferred', nextAttemptAt: new Date(this.clock.now().getTime() + holdMs), reason: SENDING_PAUSED };
  }
}

function end(ending: Ending): Prepared {
  return { kind: 'ending', ending };
}
