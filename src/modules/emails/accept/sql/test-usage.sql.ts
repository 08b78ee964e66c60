// Test mode: how many recipients a sender domain has used, by day and in all; counted in the accept transaction.
// Reads and writes: test_usage (primary key). Locks: the domains' rows, in key order. Rows: two per domain of a batch.
// Not the ORM: an upsert that returns the new values. Only test mail pays for its row lock.
import type { Statement } from '../../../../database/statement';

const LOCK = `
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
  /** Of all days together; else of the day. */
  readonly isLifetime: boolean;
  readonly recipients: number;
}

export interface UsedRecipients {
  readonly organizationId: string;
  readonly domainId: string;
  readonly recipients: number;
}

/** Locks the counters of the domains (each named once) and returns their values; `day` is a UTC date. */
export function lockTestUsage(
  domains: readonly { organizationId: string; domainId: string }[],
  day: string,
): Statement<DomainUsage> {
  return {
    name: 'lock-test-usage',
    text: LOCK,
    values: [domains.map((domain) => domain.organizationId), domains.map((domain) => domain.domainId), day],
  };
}

const ADD = `
  update test_usage u
  set recipients = u.recipients + d.recipients
  from unnest($1::uuid[], $2::uuid[], $3::int[]) as d (organization_id, domain_id, recipients)
  where u.organization_id = d.organization_id and u.domain_id = d.domain_id and u.day in ($4::date, date 'epoch')`;

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

const DELETE = `
  delete from test_usage where day < $1::date and day <> date 'epoch' returning 1 as deleted`;

/** Of past days; what has been used in all stays. The table is read as a whole: it holds few days. @param before a UTC date */
export function deleteOldTestUsage(before: string): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-test-usage', text: DELETE, values: [before] };
}
