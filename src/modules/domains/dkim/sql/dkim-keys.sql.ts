import { NIL_ID } from '../../../../common/ids';
import type { Statement } from '../../../../database/statements/statement';

// Public keys are read without an organization: the owner is what is asked for, and the keys are public.
export interface KnownKey {
  organizationId: string;
  domainId: string;
  /** Base64 of the DER public key. */
  publicKey: string;
}

// Finds the public key of a selector of a verified domain, whatever its state; expired ones included while they are kept.
// Reads: domains (unique index domains_verified_name), dkim_keys (primary key). Locks: none. Rows: 0 or 1.
// Not the ORM: a join that returns two columns.
const FIND_KEY_BY_NAME = `
  select k.organization_id as "organizationId", k.domain_id as "domainId", k.public_key as "publicKey"
  from domains d
  join dkim_keys k on k.organization_id = d.organization_id and k.domain_id = d.id
  where d.domain = $1 and d.verification_status = 'verified' and k.selector = $2`;

/** @param domain in normal form */
export function findKeyByName(domain: string, selector: string): Statement<KnownKey> {
  return { name: 'find-key-by-name', text: FIND_KEY_BY_NAME, values: [domain, selector] };
}

export interface PublishedKeyRow {
  domainId: string;
  selector: string;
  publicKey: string;
  expiresAt: Date | null;
}

// Finds the keys of up to 100 domains, for the DNS responder. The caller filters expired ones, so that cached keys expire too while
// the database is unavailable.
// Reads: dkim_keys (index dkim_keys_domain). Locks: none. Rows: 0 to 3 for each domain.
// Not the ORM: anyone on the Internet can cause it, so it is a prepared statement that serves all waiting queries at once.
const FIND_PUBLISHED_KEYS = `
  select k.domain_id as "domainId", k.selector, k.public_key as "publicKey", k.expires_at as "expiresAt"
  from unnest($1::uuid[]) as wanted (domain_id)
  join dkim_keys k on k.domain_id = wanted.domain_id
  order by k.domain_id, k.selector`;

/** Returns a row per key: none for an unknown domain, expired keys included. @param domainIds up to 100 */
export function findPublishedKeys(domainIds: readonly string[]): Statement<PublishedKeyRow> {
  return { name: 'find-published-keys', text: FIND_PUBLISHED_KEYS, values: [[...domainIds]] };
}

// Encrypted private keys of all organizations: the master key belongs to the operator and encrypts all of them.
export interface EncryptedKeyRow {
  organizationId: string;
  domainId: string;
  selector: string;
  encrypted: Buffer;
}

// Lists them in key order, up to $4 after the key ($1, $2, $3).
// Reads: dkim_keys (primary key). Locks: none. Rows: up to $4. Not the ORM: pages by a row comparison.
const LIST = `
  select organization_id as "organizationId", domain_id as "domainId", selector, private_key_sealed as encrypted
  from dkim_keys
  where (organization_id, domain_id, selector) > ($1, $2, $3)
  order by organization_id, domain_id, selector
  limit $4`;

const START = { organizationId: NIL_ID, domainId: NIL_ID, selector: '' };

/** @param after the last row of the page before; undefined for the first page */
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

// Replaces keys by their new encryption; one that has changed or been deleted since it was read stays as it is.
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

/** Returns one row per replaced key. @param keys with `encrypted` as it was read */
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

// Deletes retiring keys that have expired, of all organizations.
// Writes: dkim_keys (index dkim_keys_retiring). Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete that returns what it removed.
export interface ExpiredDkimKey {
  readonly organizationId: string;
  readonly domainId: string;
  readonly selector: string;
}

const TEXT = `
  delete from dkim_keys k
  using (
    select organization_id, domain_id, selector
    from dkim_keys
    where state = 'retiring' and expires_at <= $1
    order by expires_at
    limit $2
    for update skip locked
  ) expired
  where k.organization_id = expired.organization_id and k.domain_id = expired.domain_id and k.selector = expired.selector
  returning k.organization_id as "organizationId", k.domain_id as "domainId", k.selector`;

/** Returns the deleted keys. @param before they expired at this time or earlier @param limit keys at most */
export function deleteExpiredDkimKeys(before: Date, limit: number): Statement<ExpiredDkimKey> {
  return { name: 'delete-expired-dkim-keys', text: TEXT, values: [before, limit] };
}
