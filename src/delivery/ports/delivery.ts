import type { Mode } from '../../common/tenant';
import type { TraceContext } from '../../common/tracing/tracing';

/** Names one email; `mode` is part of the key because live and test data never mix. */
export interface EmailKey {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly emailId: string;
}

/** Names one recipient of one email: the unit of delivery. */
export interface DeliveryKey extends EmailKey {
  /** Position among the email's recipients, from 0. */
  readonly position: number;
}

/** `bulk` mail honours unsubscriptions; `transactional` mail ignores those, and only those. */
export type MailCategory = 'transactional' | 'bulk';

/** Workers crash for many reasons; a delivery that two of them held is a suspect, and is tried together with a few others. */
export const SUSPECT_CRASHES = 2;
/** The worker that tried it with a few others crashed too: from now on it is tried alone. */
export const ALONE_CRASHES = 3;
/** Two more workers crashed while they tried it alone: it is the cause. */
export const POISON_CRASHES = 5;

/** A delivery that this worker session owns until it settles or its lease ends. */
export interface ClaimedDelivery extends DeliveryKey {
  readonly domainId: string;
  /** Envelope address: the domain in A-labels. */
  readonly recipient: string;
  /** The recipient's domain: what routing and shaping go by. */
  readonly destination: string;
  readonly category: MailCategory;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** How often a worker crashed while it held this delivery, since the last attempt that ended. */
  readonly crashes: number;
  /** Earlier attempts that a server refused for good before it had heard of the recipient. */
  readonly refusals: number;
  /** The worker session that holds it. */
  readonly sessionId: string;
  /** Fencing token: a result is taken only with the token of the newest claim. */
  readonly claimToken: number;
  /** By the database's clock at the claim itself, so that it follows the acceptance. */
  readonly claimedAt: Date;
  /** When the email became due for its first attempt; retries end a fixed time after it. */
  readonly firstDueAt: Date;
  /** No attempt starts after it. */
  readonly expiresAt: Date | null;
  /** What one was that is claimed to be ended, as its time has run out; absent for one whose turn has come. */
  readonly overdue?: {
    readonly state: 'waiting' | 'ready' | 'held';
    readonly heldAt: Date | null;
    readonly heldReason: string | null;
  };
  /** The span that it continues; null unless its trace is sampled. */
  readonly traceContext: TraceContext | null;
}
