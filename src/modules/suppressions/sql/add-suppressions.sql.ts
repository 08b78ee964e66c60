// Lists addresses automatically.
// Writes: suppressions (primary key). Locks: rows in key order. Rows: the hard bounces of one settled batch.
// Not the ORM: part of the settle transaction.
import { addressKey } from '../../../common/mail-address';
import { newId } from '../../../common/ids';
import type { Statement } from '../../../database/statement';
import type { NewSuppression } from '../suppression';
import { KEEP_OR_REPLACE } from './suppression-conflict';

const TEXT = `
  insert into suppressions (organization_id, mode, address_key, reason, id, email, source, suppressed_at, expires_at)
  select distinct on (organization_id, mode, address_key, reason)
    organization_id, mode, address_key, reason, id, email, 'automatic', $8::timestamptz, expires_at
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::timestamptz[])
    as given (organization_id, mode, address_key, reason, id, email, expires_at)
  order by organization_id, mode, address_key, reason
  ${KEEP_OR_REPLACE}`;

export function addSuppressions(rows: readonly NewSuppression[], now: Date): Statement<never> {
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
      now,
    ],
  };
}
