// Takes the check of one day, unless it is done or another process is running it.
// Writes: stats_checks (primary key). Locks: its row. Rows: one.
// Not the ORM: an upsert with a condition.
import type { Statement } from '../../../../database/statement';

const TEXT = `
  insert into stats_checks as c (day, claimed_at) values ($1, $2)
  on conflict (day) do update set claimed_at = excluded.claimed_at
  where c.finished_at is null and c.claimed_at < $3
  returning 1`;

/** @param abandonedBefore a claim older than that has been given up */
export function claimStatsCheck(day: string, now: Date, abandonedBefore: Date): Statement<object> {
  return { name: 'claim-stats-check', text: TEXT, values: [day, now, abandonedBefore] };
}
