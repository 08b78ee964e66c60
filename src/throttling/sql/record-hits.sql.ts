// Adds this process's hits to the shared counters and answers their totals, many counters at a time.
// Writes: throttle_hits (primary key; the update changes no indexed column, so it stays on its page).
// Locks: rows in primary-key order, so that two processes never wait for each other in a circle. Rows: one per counter
// that was hit since the last flush, 1 to 1,000.
// Not the ORM: it cannot add and read back in one statement; a request would cost a round trip of its own.
import type { Statement } from '../../database/statement';

export interface Hits {
  readonly key: string;
  readonly windowStart: Date;
  readonly hits: number;
  readonly expiresAt: Date;
}

export interface SharedHits {
  key: string;
  hits: number;
}

const TEXT = `
  insert into throttle_hits as stored (key, window_start, hits, expires_at)
  select key, window_start, hits, expires_at
  from unnest($1::text[], $2::timestamptz[], $3::bigint[], $4::timestamptz[])
    as batch (key, window_start, hits, expires_at)
  order by key, window_start
  on conflict (key, window_start) do update set hits = stored.hits + excluded.hits
  returning key, hits::double precision as hits`;

/** @param batch holds each key once */
export function recordHits(batch: readonly Hits[]): Statement<SharedHits> {
  return {
    name: 'record-hits',
    text: TEXT,
    values: [
      batch.map((entry) => entry.key),
      batch.map((entry) => entry.windowStart),
      batch.map((entry) => entry.hits),
      batch.map((entry) => entry.expiresAt),
    ],
  };
}
