import type { DeliveryKey } from '../ports/delivery';

/** What becomes of a claimed delivery in the queue. */
export interface SettledDelivery extends DeliveryKey {
  readonly claimToken: number;
  /** How many attempts have been made: one fewer than claims when the last made none. */
  readonly attempt: number;
  /** Null: it is over, and the row leaves the queue. */
  readonly nextAttemptAt: Date | null;
}
