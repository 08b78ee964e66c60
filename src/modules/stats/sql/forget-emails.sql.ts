// Takes emails that are gone out of the hours by which lists count; the other counters stay.
// Writes: stats_hourly (index stats_hourly_by_hour), stats_deltas (stats_deltas_by_hour; folded long ago, as a rule).
// Locks: those rows. Rows: 24 a day and domain of some organizations.
// Not the ORM: two tables at once. Both modes: retention is the same for them.
import type { Statement } from '../../../database/statement';
import type { Period } from '../period';

const TEXT = `
  with owners as materialized (
    select organization_id, mode
    from unnest($1::uuid[]) as o (organization_id) cross join (values ('live'), ('test')) as m (mode)
  ), appended as (
    update stats_deltas s set emails = 0
    from owners o
    where s.organization_id = o.organization_id and s.mode = o.mode and s.hour >= $2 and s.hour < $3 and s.emails > 0
  )
  update stats_hourly s set emails = 0
  from owners o
  where s.organization_id = o.organization_id and s.mode = o.mode and s.hour >= $2 and s.hour < $3 and s.emails > 0`;

/** @param period whole hours of the emails' ids */
export function forgetEmails(organizationIds: readonly string[], { from, to }: Period): Statement<never> {
  return { name: 'forget-emails', text: TEXT, values: [organizationIds, from, to] };
}
