import type { Transaction } from '../../database/statements/transaction';
import type { AttemptTrace, SmtpPhase, TlsFault, TlsPolicy } from './attempt-trace';
import type { ClaimedDelivery, DeliveryKey } from './delivery';

/** The remote side's reply, as far as an SMTP conversation got. */
export interface SmtpFacts {
  /** Reply code, 200–599. */
  readonly code?: number;
  /** Enhanced status code (RFC 3463), such as `5.1.1`. */
  readonly enhancedCode?: string;
  /** Last reply line, at most 500 characters, printable. */
  readonly response?: string;
  /** Of a reply of several lines, all as they came; at most 20 of at most 500 characters, printable. */
  readonly lines?: readonly string[];
  readonly mxHost?: string;
  /** True when the conversation was encrypted. */
  readonly tls?: boolean;
  /** STARTTLS was offered and broke, twice, so that opportunistic mail went in plaintext: how. */
  readonly tlsFailure?: string;
  /** Which demand kept the mail back, as its connection could not be encrypted, or not as demanded. */
  readonly policy?: TlsPolicy;
  /** Beside `policy`: what was wrong. */
  readonly tlsFault?: TlsFault;
  /** Where it ended. */
  readonly phase?: SmtpPhase;
  /** The rule that matched the reply, and the subject that it assigns. */
  readonly ruleId?: string;
  readonly class?: string;
}

/** Reason in the event of an attempt whose outcome is unknown. */
export const OUTCOME_UNKNOWN = 'outcome_unknown';

/** Reasons for waiting for a source address: all that are allowed are warming up, or refused by the receiver. */
export const WARMING_UP = 'warming_up';
export const SOURCE_SUSPENDED = 'source-suspended';

/** Both in plain words: of the one, and of what has been due and was not begun. */
export const ITS_TURN_WORDS = 'it was due, and its turn had not come';
export const WARMING_UP_WORDS =
  'The addresses that it may leave from are new to this receiver, and have sent enough to it today';

export type BounceType = 'hard' | 'soft';

/** Why a delivery ended without a reply of the receiving side. */
export type FailureReason =
  | 'blocked'
  | 'expired'
  | 'cancelled'
  | 'domain_removed'
  | 'poison'
  | 'content_unavailable'
  | 'operator';

/** Reason of a bounce that a report attributes to an address that the recipient's passes mail on to. */
export const MEMBER_FAILED = 'member-failed';

/**
 * The outcome of one recipient, whatever the source: the engine, the simulator, a bounce message. `sending`: its first attempt
 * has begun. `sent`: a relay took it. `delivered`: the recipient's own server took it. `unknown`: the final dot was written and
 * no reply came, so the message may or may not have arrived; it is tried again with the same Message-ID. The last group is what
 * recipients did with a mail that arrived.
 */
export type DeliveryOutcome =
  | { readonly kind: 'sending' }
  | { readonly kind: 'sent' | 'delivered'; readonly smtp?: SmtpFacts }
  | {
      readonly kind: 'deferred' | 'unknown';
      readonly nextAttemptAt: Date;
      readonly reason: string;
      /** True: a permanent refusal, which ends the delivery after a few of them. */
      readonly isRefusal?: boolean;
      /** The cause in plain words, where no reply says it. */
      readonly explanation?: string;
      readonly smtp?: SmtpFacts;
    }
  | {
      readonly kind: 'bounced';
      readonly bounceType: BounceType;
      /** True when the address itself is bad: this organization must not send to it again. */
      readonly suppress: boolean;
      /** For people, too. */
      readonly reason: string;
      /** The cause in plain words. */
      readonly explanation?: string;
      /** For a delivery that expired without another attempt: what prevented one, in plain words. */
      readonly obstacle?: string;
      /** Set when the retries are exhausted: why the last attempt failed, which `reason` says in words. */
      readonly lastReason?: string;
      /** False: what the sender cannot change, such as a listed address of this service; true when absent. */
      readonly countsAgainstSender?: boolean;
      /** True: the recipient's domain does not exist in DNS. Seen on several days, that suppresses. */
      readonly isDomainMissing?: boolean;
      readonly smtp?: SmtpFacts;
    }
  | {
      readonly kind: 'failed';
      readonly reason: FailureReason;
      readonly detail?: string;
      /** The cause in plain words. */
      readonly explanation?: string;
      /** For a delivery that expired without another attempt: what prevented one, in plain words. */
      readonly obstacle?: string;
      /** The result of the last attempt. */
      readonly smtp?: SmtpFacts;
    }
  | { readonly kind: 'spam_report' | 'unsubscribed'; readonly data?: Readonly<Record<string, unknown>> }
  | {
      readonly kind: 'opened' | 'clicked';
      /** True: a scanner or a proxy did it by itself. It is recorded, and counts for nothing. */
      readonly automated?: boolean;
      readonly data?: Readonly<Record<string, unknown>>;
    };

/** Whether a program did it, and no person. */
export function isAutomated(outcome: DeliveryOutcome): boolean {
  return (outcome.kind === 'opened' || outcome.kind === 'clicked') && outcome.automated === true;
}

/** Who observed an outcome; shown as the event's `source`. */
export type OutcomeSource =
  | 'api'
  | 'smtp_submission'
  | 'worker'
  | 'smtp'
  | 'dsn'
  | 'feedback_loop'
  | 'tracking'
  | 'simulator'
  | 'system';

/** One outcome on its way to be recorded. */
export interface RecordedOutcome extends DeliveryKey {
  readonly domainId: string;
  readonly recipient: string;
  readonly outcome: DeliveryOutcome;
  readonly source: OutcomeSource;
  readonly occurredAt: Date;
  /** Present when an attempt of the engine led to it. */
  readonly attempt?: number;
  /** What that attempt was like. */
  readonly trace?: AttemptTrace | undefined;
}

const SENDING: DeliveryOutcome = { kind: 'sending' };

/** A recipient's first attempt has begun. */
export function asSending(
  claim: Omit<RecordedOutcome, 'outcome' | 'source' | 'occurredAt'> & { claimedAt: Date },
): RecordedOutcome {
  return {
    organizationId: claim.organizationId,
    mode: claim.mode,
    emailId: claim.emailId,
    position: claim.position,
    domainId: claim.domainId,
    recipient: claim.recipient,
    outcome: SENDING,
    source: 'worker',
    occurredAt: claim.claimedAt,
  };
}

/** The result of a claim: its outcome, and what followed at once (the simulator's opens and complaints). */
export interface Settlement {
  readonly claim: ClaimedDelivery;
  readonly outcomes: readonly [RecordedOutcome, ...RecordedOutcome[]];
}

/**
 * The single entry point through which everything that happens to a mail after acceptance is recorded; bound to the emails
 * feature by the root modules.
 */
export abstract class OutcomeSink {
  /** Writes recipient and email state, events, counters and suppressions within the caller's transaction. */
  abstract record(outcomes: readonly RecordedOutcome[], tx: Transaction): Promise<void>;
}
