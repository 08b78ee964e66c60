import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';
import type { Suppression } from '../suppression.entity';

// Puts addresses on one list by hand; returns which were not on it for the same reason already.
// Writes: suppressions (primary key). Locks: rows in key order, as in add-suppressions. Rows: 1 to 1,000, each key and
// reason once.
// Not the ORM: an entry that has expired is replaced, one in force is left alone, and one step distinguishes the two.
const TEXT = `
  insert into suppressions as listed
    (organization_id, mode, address_key, reason, id, email, source, notes, suppressed_at)
  select $1::uuid, $2::text, address_key, reason, id, email, 'api', notes, $3::timestamptz
  from unnest($4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[]) as given (address_key, reason, id, email, notes)
  order by address_key, reason
  on conflict (organization_id, mode, address_key, reason) do update
    set id = excluded.id, email = excluded.email, source = excluded.source, notes = excluded.notes,
      suppressed_at = excluded.suppressed_at, expires_at = null
    where listed.expires_at <= excluded.suppressed_at
  returning id`;

export function insertSuppressions(
  { organizationId, mode }: Tenant,
  entries: readonly Suppression[],
  now: Date,
): Statement<{ id: string }> {
  return {
    name: 'insert-suppressions',
    text: TEXT,
    values: [
      organizationId,
      mode,
      now,
      entries.map((entry) => entry.addressKey),
      entries.map((entry) => entry.reason),
      entries.map((entry) => entry.id),
      entries.map((entry) => entry.email),
      entries.map((entry) => entry.notes),
    ],
  };
}

// Clears what has long had no effect: soft bounces and missing domains outside the window, suppressions that expired as long ago.
// Writes: soft_bounces (index on last_bounced_at), missing_domains (on last_seen_on), suppressions (on expires_at). Locks: the rows, skip locked.
// Rows: up to $2.
// Not the ORM: a bounded delete.
const SOFT_BOUNCES = `
  delete from soft_bounces s
  using (
    select organization_id, mode, address_key
    from soft_bounces
    where last_bounced_at < $1
    order by last_bounced_at
    limit $2
    for update skip locked
  ) old
  where s.organization_id = old.organization_id and s.mode = old.mode and s.address_key = old.address_key
  returning 1 as deleted`;

const MISSING_DOMAINS = `
  delete from missing_domains m
  using (
    select organization_id, mode, address_key
    from missing_domains
    where last_seen_on < ($1::timestamptz at time zone 'UTC')::date
    order by last_seen_on
    limit $2
    for update skip locked
  ) old
  where m.organization_id = old.organization_id and m.mode = old.mode and m.address_key = old.address_key
  returning 1 as deleted`;

const SUPPRESSIONS = `
  delete from suppressions s
  using (
    select organization_id, mode, address_key, reason
    from suppressions
    where expires_at < $1
    order by expires_at
    limit $2
    for update skip locked
  ) old
  where s.organization_id = old.organization_id and s.mode = old.mode and s.address_key = old.address_key
    and s.reason = old.reason
  returning 1 as deleted`;

type Deleted = Statement<{ deleted: 1 }>;

export function deleteOldSoftBounces(before: Date, limit: number): Deleted {
  return { name: 'delete-old-soft-bounces', text: SOFT_BOUNCES, values: [before, limit] };
}

export function deleteOldMissingDomains(before: Date, limit: number): Deleted {
  return { name: 'delete-old-missing-domains', text: MISSING_DOMAINS, values: [before, limit] };
}

export function deleteOldSuppressions(expiredBefore: Date, limit: number): Deleted {
  return { name: 'delete-old-suppressions', text: SUPPRESSIONS, values: [expiredBefore, limit] };
}
