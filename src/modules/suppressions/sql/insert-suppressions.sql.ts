// Puts addresses on one list by hand; returns which were not on it for the same reason already.
// Writes: suppressions (primary key). Locks: rows in key order, as in add-suppressions. Rows: 1 to 1,000, each key and
// reason once.
// Not the ORM: an entry that has expired is replaced, one in force is left alone, and one step distinguishes the two.
import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';
import type { Suppression } from '../suppression.entity';

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
