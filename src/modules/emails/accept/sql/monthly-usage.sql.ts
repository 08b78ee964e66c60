// How many recipients limited organizations have used in a month; counted in the accept transaction.
// Reads and writes: monthly_usage (primary key). Locks: the organizations' rows, in key order. Rows: one per limited
// organization of a batch; the others pay nothing.
// Not the ORM: an upsert that returns the new values.
import type { Statement } from '../../../../database/statement';

export interface LockedUsage {
  readonly organizationId: string;
  readonly recipients: number;
  /** It is new, or the statistics have not been counted for a minute: they have to be now. */
  readonly isStale: boolean;
}

const LOCK = `
  insert into monthly_usage as u (organization_id, month, recipients, counted_at)
  select organization_id, $2::date, 0, '-infinity'
  from unnest($1::uuid[]) as o (organization_id)
  order by organization_id
  on conflict (organization_id, month) do update set recipients = u.recipients
  returning u.organization_id as "organizationId", u.recipients::float8 as recipients,
    u.counted_at < now() - interval '1 minute' as "isStale"`;

/** @param month its first day, a UTC date */
export function lockMonthlyUsage(organizationIds: readonly string[], month: string): Statement<LockedUsage> {
  return { name: 'lock-monthly-usage', text: LOCK, values: [organizationIds, month] };
}

export interface CountedUsage extends LockedUsage {
  /** What the batch adds is among them. */
  readonly recipients: number;
}

const SET = `
  update monthly_usage u
  set recipients = o.recipients, counted_at = case when o.is_counted then now() else u.counted_at end
  from unnest($1::uuid[], $2::float8[], $3::boolean[]) as o (organization_id, recipients, is_counted)
  where u.organization_id = o.organization_id and u.month = $4::date`;

/** @param usages `isStale`: they have just been counted */
export function setMonthlyUsage(usages: readonly CountedUsage[], month: string): Statement<never> {
  return {
    name: 'set-monthly-usage',
    text: SET,
    values: [
      usages.map((usage) => usage.organizationId),
      usages.map((usage) => usage.recipients),
      usages.map((usage) => usage.isStale),
      month,
    ],
  };
}

const DELETE = `delete from monthly_usage where month < $1::date returning 1 as deleted`;

/** The table is read as a whole: it holds few months. @param before a UTC date */
export function deleteOldMonthlyUsage(before: string): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-monthly-usage', text: DELETE, values: [before] };
}
