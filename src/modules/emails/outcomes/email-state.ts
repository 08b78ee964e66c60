import type { StoredTrace } from './stored-trace';
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { DeliveryOutcome } from '../../../delivery/ports/outcome';
import type { StatDelta } from '../../stats/stats.service';
import type { MissingDomainLookup, NewSuppression, SoftBounce } from '../../suppressions/suppressions.service';

export interface RecipientState {
  readonly position: number;
  readonly address: string;
  readonly seen: number;
  readonly status: EmailStatus;
  readonly attempts: number;
  readonly lastResponse: string | null;
  /** The mail exchanger that accepted the mail, where a later report needs it. */
  readonly deliveredTo?: string;
}

/** The state of an email when outcomes arrive; its row is locked. */
export interface EmailState extends EmailKey {
  readonly domainId: string;
  readonly status: EmailStatus;
  readonly eventSequence: number;
  readonly scheduledFor: Date | null;
  /** Whether the sender or a reply-to address has been erased. */
  readonly isSenderErased: boolean;
  readonly recipients: readonly RecipientState[];
}

export interface NewEvent extends EmailKey {
  readonly sequence: number;
  readonly eventType: string;
  readonly source: string;
  readonly occurredAt: Date;
  readonly data: Record<string, unknown>;
  /** The trace of the attempt that led to the event. */
  readonly trace?: StoredTrace | undefined;
}

/** The changes of outcomes, to be written in the same transaction. */
export interface EmailChanges extends EmailKey {
  readonly status: EmailStatus;
  readonly eventSequence: number;
  readonly times: { sentAt: Date | null; deliveredAt: Date | null; bouncedAt: Date | null; failedAt: Date | null };
  readonly opens: number;
  readonly clicks: number;
  readonly recipients: readonly RecipientState[];
  readonly events: readonly NewEvent[];
  readonly deltas: readonly StatDelta[];
  readonly suppressions: readonly NewSuppression[];
  /** Recipients that have newly ended in a soft bounce. */
  readonly softBounces: readonly SoftBounce[];
  /** Recipients whose domain does not exist in DNS. */
  readonly missingDomains: readonly MissingDomainLookup[];
}

export const EMAIL_STATUSES = ['queued', 'scheduled', 'sending', 'sent', 'delivered', 'bounced', 'failed'] as const;

export type EmailStatus = (typeof EMAIL_STATUSES)[number];

/** Kinds of outcome that count once per recipient. */
export type LastingOutcome = Exclude<DeliveryOutcome['kind'], 'deferred' | 'unknown'>;

/**
 * A recipient's state is the *set* of its lasting outcomes, stored as bits. A set union does not depend on order or
 * repetition, so outcomes may arrive late, twice or in any order and lead to the same state and the same counters.
 */
const BIT: Record<LastingOutcome, number> = {
  sending: 1,
  sent: 2,
  delivered: 4,
  bounced: 8,
  failed: 16,
  spam_report: 32,
  opened: 64,
  clicked: 128,
  unsubscribed: 256,
};

/** Whether the bits of a recipient contain an outcome. */
export function hasSeen(seen: number, outcome: LastingOutcome): boolean {
  return (seen & BIT[outcome]) !== 0;
}

/** Of a recipient that has bounced: one of its bounces was permanent. */
const HARD_BOUNCE = 512;

/** Whether a bounce adds nothing to what the bits of a recipient contain: only a permanent one after temporary ones does. */
export function isBounceKnown(seen: number, bounceType: 'hard' | 'soft'): boolean {
  return hasSeen(seen, 'bounced') && (bounceType === 'soft' || (seen & HARD_BOUNCE) !== 0);
}

/** The bits of a recipient with a permanent bounce. */
export function withHardBounce(seen: number): number {
  return seen | HARD_BOUNCE;
}

/** The bits of a recipient with one more outcome. */
export function withSeen(seen: number, outcome: LastingOutcome): number {
  return seen | BIT[outcome];
}

/** The furthest first: a later bounce takes precedence over the delivery before it. */
const FURTHEST: readonly (LastingOutcome & EmailStatus)[] = ['bounced', 'delivered', 'failed', 'sent', 'sending'];

/** The status of a recipient: its furthest outcome, `before` without one. */
export function recipientStatus(seen: number, before: 'queued' | 'scheduled'): EmailStatus {
  return FURTHEST.find((status) => hasSeen(seen, status)) ?? before;
}

const PROGRESS: readonly EmailStatus[] = ['sent', 'sending', 'queued', 'scheduled'];

/**
 * The email's status from its recipients': any delivered one makes it `delivered`; while one is open, the furthest open
 * one counts; then `bounced` if any bounced, else `failed`.
 */
export function foldStatus(recipients: readonly EmailStatus[]): EmailStatus {
  const present = new Set(recipients);
  if (present.has('delivered')) return 'delivered';
  const open = PROGRESS.find((status) => present.has(status));
  return open ?? (present.has('bounced') ? 'bounced' : 'failed');
}
