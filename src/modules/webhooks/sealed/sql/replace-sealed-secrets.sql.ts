// Puts secrets that have been sealed again in the place of the same secrets as they were read; those of an endpoint that
// has changed or gone since stay as they are.
// Writes: webhook_endpoints (primary key). Locks: the rows, in key order. Rows: up to 100.
// Not the ORM: a comparison with what was read, and many rows in one statement.
import type { Statement } from '../../../../database/statement';
import type { SealedSecretRow } from './list-sealed-secrets.sql';

export interface ResealedSecrets extends SealedSecretRow {
  readonly resealed: Pick<SealedSecretRow, 'secret' | 'previousSecret'>;
}

const TEXT = `
  with given as (
    select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[])
      as given (organization_id, mode, id, secret, previous, resealed, resealed_previous)
  ), locked as (
    select e.organization_id, e.mode, e.id, given.resealed, given.resealed_previous
    from given
    join webhook_endpoints e using (organization_id, mode, id)
    where e.secret = given.secret and e.previous_secret is not distinct from given.previous
    order by e.organization_id, e.mode, e.id
    for update of e
  )
  update webhook_endpoints e
  set secret = locked.resealed, previous_secret = locked.resealed_previous
  from locked
  where e.organization_id = locked.organization_id and e.mode = locked.mode and e.id = locked.id
  returning 1 as replaced`;

export function replaceSealedSecrets(rows: readonly ResealedSecrets[]): Statement<{ replaced: 1 }> {
  return {
    name: 'replace-sealed-webhook-secrets',
    text: TEXT,
    values: [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.mode),
      rows.map((row) => row.id),
      rows.map((row) => row.secret),
      rows.map((row) => row.previousSecret),
      rows.map((row) => row.resealed.secret),
      rows.map((row) => row.resealed.previousSecret),
    ],
  };
}
