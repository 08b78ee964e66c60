import { Injectable } from '@nestjs/common';
import { Clock, HOUR, MINUTE, SECOND } from '../../../common/clock';
import { DELIVERY_LIFE_MS, jitter } from '../../policy/retry-schedule';
import { expiry } from '../../policy/transmission-result';
import { ALONE_CRASHES, type ClaimedDelivery, POISON_CRASHES, SUSPECT_CRASHES } from '../../ports/delivery';
import { type DeliveryOutcome, ITS_TURN_WORDS } from '../../ports/outcome';
import { SENDING_PAUSED } from '../../ports/sources';
import { RESULT_NOT_STORED } from '../../queue/waiting';
import { type HeldBack, HeldDestinations } from '../../shaping/held-destinations.service';
import { WorkerSlots } from '../slots/worker-slots';

const POISON = {
  kind: 'failed',
  reason: 'poison',
  detail:
    `${POISON_CRASHES} workers died while they held this mail, ` +
    `the last ${POISON_CRASHES - ALONE_CRASHES} while they tried it alone`,
} as const;

/** What becomes of a claim without an attempt. */
export type UnattemptedEnding = Extract<DeliveryOutcome, { kind: 'failed' | 'bounced' } | { nextAttemptAt: Date }>;

/** A commit over several nodes that was interrupted is completed within a minute, by the cluster's own recovery; ten are ample. */
const LATE_COMMIT_MS = 10 * MINUTE;
const LATE_COMMIT_RETRY_MS = 15 * SECOND;

/** The endings of claims for which no attempt is made, each with its cause in plain words. */
@Injectable()
export class UnattemptedEndings {
  constructor(
    private readonly held: HeldDestinations,
    private readonly slots: WorkerSlots,
    private readonly clock: Clock,
  ) {}

  /** Of those of the claims that are over before an attempt. @throws UnavailableError */
  async ofOver(claims: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, UnattemptedEnding>> {
    const endings = new Map<ClaimedDelivery, UnattemptedEnding>();
    const over: ClaimedDelivery[] = [];
    for (const claim of claims) {
      if (claim.crashes >= POISON_CRASHES) endings.set(claim, POISON);
      else if (this.isOver(claim)) over.push(claim);
    }
    if (over.length === 0) return endings;
    const held = await this.held.get();
    for (const claim of over) {
      const { destination } = claim;
      endings.set(claim, this.ofTime(claim, held.of(destination, this.slots.keyOf(destination))));
    }
    return endings;
  }

  /** Where emails are on several nodes, one of them may show its part of a commit later than the queue's does. */
  withoutContent({ firstDueAt }: ClaimedDelivery): UnattemptedEnding {
    const nowMs = this.clock.now().getTime();
    if (nowMs - firstDueAt.getTime() >= LATE_COMMIT_MS) return { kind: 'failed', reason: 'content_unavailable' };
    const explanation = 'Its content could not be read yet';
    return { ...this.until(nowMs + LATE_COMMIT_RETRY_MS), reason: 'content_unavailable', explanation };
  }

  /**
   * For about an hour, with jitter, so that a resumption does not start everything at once.
   * @param explanation why its domain is paused
   */
  ofPausedDomain(explanation: string): UnattemptedEnding {
    return {
      ...this.until(this.clock.now().getTime() + HOUR * jitter(Math.random)),
      reason: SENDING_PAUSED,
      explanation,
    };
  }

  private until(ms: number): { kind: 'deferred'; nextAttemptAt: Date } {
    return { kind: 'deferred', nextAttemptAt: new Date(ms) };
  }

  private isOver({ expiresAt, firstDueAt }: ClaimedDelivery): boolean {
    const nowMs = this.clock.now().getTime();
    return (expiresAt !== null && expiresAt.getTime() <= nowMs) || firstDueAt.getTime() + DELIVERY_LIFE_MS <= nowMs;
  }

  private ofTime(claim: ClaimedDelivery, held: HeldBack | undefined): UnattemptedEnding {
    const obstacle = obstacleOf(claim, held);
    // The claim has counted an attempt that is not made.
    const words = { explanation: expiry(claim.attempt - 1), ...(obstacle !== undefined && { obstacle }) };
    if (claim.expiresAt && claim.expiresAt <= this.clock.now()) {
      return { kind: 'failed', reason: 'expired', ...words };
    }
    return { kind: 'bounced', bounceType: 'soft', suppress: false, reason: 'retries exhausted', ...words };
  }
}

type Facts = Pick<ClaimedDelivery, 'destination' | 'crashes' | 'overdue'>;

/**
 * Why the next attempt did not start in time, for the sender, in plain words; undefined where only the last result may give it.
 * An operator's text is shown. Another tenant's reply is not: it may name a recipient.
 * @param held what all workers hold back of its destination's mail
 */
export function obstacleOf({ destination, crashes, overdue }: Facts, held: HeldBack | undefined): string | undefined {
  const { state, heldAt, heldReason } = overdue ?? {};
  if (state === 'held' || heldAt) return putAside(heldAt, heldReason ?? '');
  if (crashes >= SUSPECT_CRASHES) return 'workers had died while they held it, so that it waited to be tried apart';
  if (held && (state !== 'waiting' || held.state === 'paused')) return heldBack(destination, held);
  return state === 'ready' ? ITS_TURN_WORDS : undefined;
}

function putAside(heldAt: Date | null | undefined, reason: string): string {
  if (reason.startsWith(RESULT_NOT_STORED)) return 'the result of its last attempt could not be stored';
  return `the operator of this service had put it aside${since(heldAt)}${because(reason)}`;
}

function heldBack(destination: string, { state, cause, operator }: HeldBack): string {
  if (operator) {
    const what =
      state === 'paused' ? `paused mail to ${destination}` : `limited mail to ${destination} (${operator.effect})`;
    return `the operator of this service had ${what}${since(operator.since)}${because(cause)}`;
  }
  switch (state) {
    case 'paused':
      return `mail to ${destination} was paused, as its servers had refused mail from this service or had not answered`;
    case 'probing':
      return `${destination} got one mail at a time, as its servers had refused mail from this service or had not answered`;
    case 'slowed':
      return `${destination} took less mail from this service than there was for it`;
  }
}

function since(at: Date | null | undefined): string {
  return at ? ` since ${at.toISOString().slice(0, 19)}Z` : '';
}

function because(reason: string | null | undefined): string {
  return reason ? `: ${reason}` : '';
}
