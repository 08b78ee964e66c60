// Lists addresses automatically; one that is there already keeps its first date and takes the later expiry.
// Writes: suppressions (primary key). Locks: rows in key order. Rows: the hard bounces of one settled batch.
// Not the ORM: part of the settle transaction.
import { addressKey } from '../../../common/mail-address';
import { newId } from '../../../common/ids';
import type { Statement } from '../../../database/statement';
import type { NewSuppression } from '../suppression';

const TEXT = `
  insert into suppressions (organization_id, mode, address_key, reason, id, email, source, expires_at)
  select distinct on (organization_id, mode, address_key, reason)
    organization_id, mode, address_key, reason, id, email, 'automatic', expires_at
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::timestamptz[])
    as given (organization_id, mode, address_key, reason, id, email, expires_at)
  order by organization_id, mode, address_key, reason
  on conflict (organization_id, mode, address_key, reason) do update
    set expires_at = case
      when suppressions.expires_at is null or excluded.expires_at is null then null
      else greatest(suppressions.expires_at, excluded.expires_at)
    end`;

export function addSuppressions(rows: readonly NewSuppression[]): Statement<never> {
  return {
    name: 'add-suppressions',
    text: TEXT,
    values: [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.mode),
      rows.map((row) => addressKey(row.email)),
      rows.map((row) => row.reason),
      rows.map(() => newId()),
      rows.map((row) => row.email),
      rows.map((row) => row.expiresAt ?? null),
    ],
  };
}
