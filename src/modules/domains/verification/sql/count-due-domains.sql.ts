// How many domains wait for a look at their records, counted to ten thousand.
// Reads: domains (index on next_check_at). Locks: none. Rows: one.
// Not the ORM: a bounded count.
import type { Statement } from '../../../../database/statement';

const TEXT = `
  select count(*)::int as count
  from (select from domains where next_check_at <= $1 limit 10000) due`;

export function countDueDomains(now: Date): Statement<{ count: number }> {
  return { name: 'count-due-domains', text: TEXT, values: [now] };
}
