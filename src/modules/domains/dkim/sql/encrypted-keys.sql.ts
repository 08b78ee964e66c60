// The encrypted private keys of all organizations: the master key is the operator's, and encrypts the keys of all of them.
import { NIL_ID } from '../../../../common/ids';
import type { Statement } from '../../../../database/statement';

export interface EncryptedKeyRow {
  organizationId: string;
  domainId: string;
  selector: string;
  encrypted: Buffer;
}

// In key order, up to $4 of them after the key ($1, $2, $3).
// Reads: dkim_keys (primary key). Locks: none. Rows: up to $4. Not the ORM: pages by a row comparison.
const LIST = `
  select organization_id as "organizationId", domain_id as "domainId", selector, private_key_sealed as encrypted
  from dkim_keys
  where (organization_id, domain_id, selector) > ($1, $2, $3)
  order by organization_id, domain_id, selector
  limit $4`;

const START = { organizationId: NIL_ID, domainId: NIL_ID, selector: '' };

/** @param after the last row of the page before; by default the first page */
export function listEncryptedKeys(
  limit: number,
  after: Omit<EncryptedKeyRow, 'encrypted'> = START,
): Statement<EncryptedKeyRow> {
  const { organizationId, domainId, selector } = after;
  return { name: 'list-encrypted-keys', text: LIST, values: [organizationId, domainId, selector, limit] };
}

export interface ReEncryptedKey extends EncryptedKeyRow {
  readonly reEncrypted: Buffer;
}

// Replaces keys as they were read by their new encryption; one that has changed or gone since stays as it is.
// Writes: dkim_keys (primary key). Locks: the rows, in key order. Rows: up to 100.
// Not the ORM: a comparison with what was read, and many rows in one statement.
const REPLACE = `
  with given as (
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::bytea[])
      as given (organization_id, domain_id, selector, encrypted, re_encrypted)
  ), locked as (
    select k.organization_id, k.domain_id, k.selector, given.re_encrypted
    from given
    join dkim_keys k using (organization_id, domain_id, selector)
    where k.private_key_sealed = given.encrypted
    order by k.organization_id, k.domain_id, k.selector
    for update of k
  )
  update dkim_keys k
  set private_key_sealed = locked.re_encrypted
  from locked
  where k.organization_id = locked.organization_id and k.domain_id = locked.domain_id and k.selector = locked.selector
  returning 1 as replaced`;

export function replaceEncryptedKeys(keys: readonly ReEncryptedKey[]): Statement<{ replaced: 1 }> {
  return {
    name: 'replace-encrypted-keys',
    text: REPLACE,
    values: [
      keys.map((key) => key.organizationId),
      keys.map((key) => key.domainId),
      keys.map((key) => key.selector),
      keys.map((key) => key.encrypted),
      keys.map((key) => key.reEncrypted),
    ],
  };
}
