// Puts keys that have been sealed again in the place of the same keys as they were read; one that has changed or gone
// since stays as it is.
// Writes: dkim_keys (primary key). Locks: the rows, in key order. Rows: up to 100.
// Not the ORM: a comparison with what was read, and many rows in one statement.
import type { Statement } from '../../../../database/statement';
import type { SealedKeyRow } from './list-sealed-keys.sql';

export interface ResealedKey extends SealedKeyRow {
  readonly resealed: Buffer;
}

const TEXT = `
  with given as (
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::bytea[])
      as given (organization_id, domain_id, selector, sealed, resealed)
  ), locked as (
    select k.organization_id, k.domain_id, k.selector, given.resealed
    from given
    join dkim_keys k using (organization_id, domain_id, selector)
    where k.private_key_sealed = given.sealed
    order by k.organization_id, k.domain_id, k.selector
    for update of k
  )
  update dkim_keys k
  set private_key_sealed = locked.resealed
  from locked
  where k.organization_id = locked.organization_id and k.domain_id = locked.domain_id and k.selector = locked.selector
  returning 1 as replaced`;

export function replaceSealedKeys(keys: readonly ResealedKey[]): Statement<{ replaced: 1 }> {
  return {
    name: 'replace-sealed-keys',
    text: TEXT,
    values: [
      keys.map((key) => key.organizationId),
      keys.map((key) => key.domainId),
      keys.map((key) => key.selector),
      keys.map((key) => key.sealed),
      keys.map((key) => key.resealed),
    ],
  };
}
