import type { Transaction } from '../../database/transaction';
import type { RecordedOutcome } from './outcome';

/**
 * The one door through which everything that happens to a mail after acceptance is recorded; bound to the emails
 * feature by the root modules.
 */
export abstract class OutcomeSink {
  /** Writes recipient and email state, events, counters and suppressions within the caller's transaction. */
  abstract record(outcomes: readonly RecordedOutcome[], tx: Transaction): Promise<void>;
}
