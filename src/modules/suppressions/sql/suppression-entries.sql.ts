import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';
import type { Suppression } from '../suppression.entity';

// Adds addresses to one list manually; returns those that were not on it for the same reason already.
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

/**
 * Returns the ids of the inserted or renewed entries; the others were in force. @param entries each address and reason
 * once
 */
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

/** Tables whose rows lose their effect at the time in column `end`, which has an index. */
const EXPIRING = {
  soft_bounces: { end: 'last_bounced_at', before: '$1', key: ['organization_id', 'mode', 'address_key'] },
  missing_domains: {
    end: 'last_seen_on',
    before: "($1::timestamptz at time zone 'UTC')::date",
    key: ['organization_id', 'mode', 'address_key'],
  },
  suppressions: { end: 'expires_at', before: '$1', key: ['organization_id', 'mode', 'address_key', 'reason'] },
} as const;

export type ExpiringTable = keyof typeof EXPIRING;

// Deletes up to $2 rows of a table whose effect ended before $1, oldest first.
// Writes: soft_bounces, missing_domains or suppressions (index on `end`). Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete.
/** Returns one row per deleted one. */
export function deleteExpired(table: ExpiringTable, before: Date, limit: number): Statement<{ deleted: 1 }> {
  const { end, before: moment, key } = EXPIRING[table];
  const text = `
    delete from ${table} t
    using (
      select ${key.join(', ')}
      from ${table}
      where ${end} < ${moment}
      order by ${end}
      limit $2
      for update skip locked
    ) old
    where ${key.map((column) => `t.${column} = old.${column}`).join(' and ')}
    returning 1 as deleted`;
  return { name: `delete-expired-${table}`, text, values: [before, limit] };
}
