import type { DeliveryKey } from '../ports/delivery';

/** What becomes of a claimed delivery in the queue. */
export interface SettledDelivery extends DeliveryKey {
  readonly claimToken: number;
  /** Null: it is over, and the row leaves the queue. */
  readonly nextAttemptAt: Date | null;
}
