// The rate limit counters that all processes share.
import type { Statement } from '../../database/statements/statement';

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

// Adds this process's hits to the shared counters and returns their totals, many counters at a time.
// Writes: throttle_hits (primary key; the update changes no indexed column, so it stays on its page).
// Locks: rows in primary-key order, so that two processes cannot deadlock. Rows: one per counter
// that was hit since the last flush, 1 to 1,000.
// Not the ORM: it cannot add and read back in one statement; a request would cost a round trip of its own.
const RECORD = `
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
    text: RECORD,
    values: [
      batch.map((entry) => entry.key),
      batch.map((entry) => entry.windowStart),
      batch.map((entry) => entry.hits),
      batch.map((entry) => entry.expiresAt),
    ],
  };
}

// Adds a hit to the current minute of a counter that looks back over $2 minutes.
// Writes: throttle_hits (primary key). Locks: that row. Rows: 1; a failed login.
// Not the ORM: an upsert that adds, by the database's clock.
const ADD_RECENT = `
  insert into throttle_hits as stored (key, window_start, hits, expires_at)
  values ($1, date_trunc('minute', now()), 1, now() + ($2 + 1) * interval '1 minute')
  on conflict (key, window_start) do update set hits = stored.hits + 1`;

/** @param minutes how far the counter looks back: the row is kept one minute longer than that */
export function addRecentHit(key: string, minutes: number): Statement<unknown> {
  return { name: 'add-recent-hit', text: ADD_RECENT, values: [key, minutes] };
}

// Sums the hits of the last $2 minutes, the current one included.
// Reads: throttle_hits (primary key). Locks: none. Rows: up to $2. Not the ORM: a sum by the database's clock.
const COUNT_RECENT = `
  select coalesce(sum(hits), 0)::double precision as hits
  from throttle_hits
  where key = $1 and window_start > now() - $2 * interval '1 minute'`;

/** Returns one row, 0 hits where there are none. @param minutes including the current one */
export function countRecentHits(key: string, minutes: number): Statement<{ hits: number }> {
  return { name: 'count-recent-hits', text: COUNT_RECENT, values: [key, minutes] };
}

export interface DeletedHits {
  deleted: number;
}

// Deletes counters whose window has passed.
// Writes: throttle_hits (index throttle_hits_expired). Locks: the rows it deletes, skipping those another process is
// deleting. Rows: up to 5,000 per call.
// Not the ORM: it has no bounded delete.
const DELETE = `
  with expired as (
    select key, window_start
    from throttle_hits
    where expires_at < now()
    order by expires_at
    limit $1
    for update skip locked
  ), deleted as (
    delete from throttle_hits using expired
    where throttle_hits.key = expired.key and throttle_hits.window_start = expired.window_start
    returning 1
  )
  select count(*)::integer as deleted from deleted`;

/** Deletes up to `limit` counters: call again while as many were deleted. */
export function deleteExpiredHits(limit: number): Statement<DeletedHits> {
  return { name: 'delete-expired-hits', text: DELETE, values: [limit] };
}
