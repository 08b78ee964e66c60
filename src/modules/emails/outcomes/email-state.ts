import type { EmailKey } from '../../../delivery/ports/delivery';
import type { StatDelta } from '../../stats/stats.service';
import type { NewSuppression, SoftBounce } from '../../suppressions/suppressions.service';
import type { EmailStatus } from './recipient-state';

export interface RecipientState {
  readonly position: number;
  readonly address: string;
  readonly seen: number;
  readonly status: EmailStatus;
  readonly attempts: number;
  readonly lastResponse: string | null;
}

/** What is known of an email when outcomes arrive; its row is locked. */
export interface EmailState extends EmailKey {
  readonly domainId: string;
  readonly status: EmailStatus;
  readonly eventSequence: number;
  readonly scheduledFor: Date | null;
  readonly recipients: readonly RecipientState[];
}

export interface NewEvent extends EmailKey {
  readonly sequence: number;
  readonly eventType: string;
  readonly source: string;
  readonly occurredAt: Date;
  readonly data: Record<string, unknown>;
}

/** What outcomes change; to be written in the same transaction. */
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
}
