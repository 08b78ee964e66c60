import type { Statement } from '../../../../../database/statements/statement';

// Counts the recipients that organizations with a limit have used in a month, within the accept transaction.
// Reads and writes: monthly_usage (primary key). Locks: the organizations' rows, in key order. Rows: one per organization with a
// limit in a batch; organizations without a limit have no row.
// Not the ORM: an upsert that returns the values.
export interface LockedUsage {
  readonly organizationId: string;
  readonly recipients: number;
  /** The counter is new, or was counted over a minute ago: the caller must count again from the statistics. */
  readonly isStale: boolean;
}

const LOCK_MONTH = `
  insert into monthly_usage as u (organization_id, month, recipients, counted_at)
  select organization_id, $2::date, 0, '-infinity'
  from unnest($1::uuid[]) as o (organization_id)
  order by organization_id
  on conflict (organization_id, month) do update set recipients = u.recipients
  returning u.organization_id as "organizationId", u.recipients::float8 as recipients,
    u.counted_at < now() - interval '1 minute' as "isStale"`;

/** Creates missing counters, locks all, and returns one row each. @param organizationIds each once @param month its first day, a UTC date */
export function lockMonthlyUsage(organizationIds: readonly string[], month: string): Statement<LockedUsage> {
  return { name: 'lock-monthly-usage', text: LOCK_MONTH, values: [organizationIds, month] };
}

export interface CountedUsage extends LockedUsage {
  /** Includes the recipients of the batch. */
  readonly recipients: number;
}

const SET = `
  update monthly_usage u
  set recipients = o.recipients, counted_at = case when o.is_counted then now() else u.counted_at end
  from unnest($1::uuid[], $2::float8[], $3::boolean[]) as o (organization_id, recipients, is_counted)
  where u.organization_id = o.organization_id and u.month = $4::date`;

/** @param usages locked by `lockMonthlyUsage`; the time of counting is set to now for those with `isStale` */
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

const DELETE_MONTHS = `delete from monthly_usage where month < $1::date returning 1 as deleted`;

/** Returns one row per deleted counter. Scans the whole table, which holds few months. @param before a UTC date */
export function deleteOldMonthlyUsage(before: string): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-monthly-usage', text: DELETE_MONTHS, values: [before] };
}

// Test mode: counts the recipients that a sender domain has used, by day and in total, within the accept transaction.
// Reads and writes: test_usage (primary key). Locks: the domains' rows, in key order. Rows: two per domain of a batch.
// Not the ORM: an upsert that returns the values. Only test mail takes this row lock.
const LOCK_DAY = `
  insert into test_usage as u (organization_id, domain_id, day, recipients)
  select organization_id, domain_id, day, 0
  from unnest($1::uuid[], $2::uuid[]) as d (organization_id, domain_id)
  cross join (values ($3::date), (date 'epoch')) as days (day)
  order by organization_id, domain_id, day
  on conflict (organization_id, domain_id, day) do update set recipients = u.recipients
  returning u.domain_id as "domainId", u.day = date 'epoch' as "isLifetime", u.recipients`;

/** A counter of a domain. */
export interface DomainUsage {
  readonly domainId: string;
  /** Whether this is the total of all days; else it is the count of the day. */
  readonly isLifetime: boolean;
  readonly recipients: number;
}

export interface UsedRecipients {
  readonly organizationId: string;
  readonly domainId: string;
  readonly recipients: number;
}

/** Creates missing counters, locks all, and returns two rows per domain. @param domains each once @param day a UTC date */
export function lockTestUsage(
  domains: readonly { organizationId: string; domainId: string }[],
  day: string,
): Statement<DomainUsage> {
  return {
    name: 'lock-test-usage',
    text: LOCK_DAY,
    values: [domains.map((domain) => domain.organizationId), domains.map((domain) => domain.domainId), day],
  };
}

const ADD = `
  update test_usage u
  set recipients = u.recipients + d.recipients
  from unnest($1::uuid[], $2::uuid[], $3::int[]) as d (organization_id, domain_id, recipients)
  where u.organization_id = d.organization_id and u.domain_id = d.domain_id and u.day in ($4::date, date 'epoch')`;

/** Adds to the day's counter and to the total. @param domains each once, locked by `lockTestUsage` */
export function addTestUsage(domains: readonly UsedRecipients[], day: string): Statement<never> {
  return {
    name: 'add-test-usage',
    text: ADD,
    values: [
      domains.map((domain) => domain.organizationId),
      domains.map((domain) => domain.domainId),
      domains.map((domain) => domain.recipients),
      day,
    ],
  };
}

const DELETE_DAYS = `
  delete from test_usage where day < $1::date and day <> date 'epoch' returning 1 as deleted`;

/** Deletes past days, but not the totals; one row each. Scans the whole table, which holds few days. @param before a UTC date */
export function deleteOldTestUsage(before: string): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-test-usage', text: DELETE_DAYS, values: [before] };
}
