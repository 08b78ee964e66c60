import type { Transaction } from '../statements/transaction';

/** What one batch came to. */
export interface BackfillBatch {
  /** Where the next one begins; undefined when nothing is left. */
  readonly position: string | undefined;
  readonly examined: number;
  readonly changed: number;
}

/**
 * Work on rows that earlier releases have written, too many for a migration: batch by batch while mail flows, each in a
 * transaction with its new position, so that it continues where it stopped. Rows that old processes may still write behind its
 * back are the business of the next release.
 */
export interface Backfill {
  /** Never reused. */
  readonly name: string;
  /** About how many rows it will examine. */
  estimate(): Promise<number>;
  /** @param position of the last batch; empty at the beginning */
  next(position: string, tx: Transaction): Promise<BackfillBatch>;
}
