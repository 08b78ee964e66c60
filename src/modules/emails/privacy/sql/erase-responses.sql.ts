// A page of idempotency keys with the responses stored under them.
// Reads: idempotency_keys (range of the primary key). Locks: none. Rows: up to $5.
// Not the ORM: a page by a key of two columns.
import type { Statement } from '../../../../database/statement';
import { hashedKey } from '../../accept/idempotency';
import type { ErasedSubject } from './erased.sql';

/** Where a page of keys begins: after this one. */
export interface KeyPlace {
  readonly path: string;
  readonly key: string;
}

export interface StoredKey extends KeyPlace {
  readonly response: unknown;
}

const READ = `
  select path, key, response
  from idempotency_keys
  where organization_id = $1 and mode = $2 and (path, key) > ($3, $4)
  order by path, key
  limit $5`;

export function readStoredKeys(
  { organizationId, mode }: ErasedSubject,
  { path, key }: KeyPlace,
  limit: number,
): Statement<StoredKey> {
  return { name: 'read-stored-keys', text: READ, values: [organizationId, mode, path, key, limit] };
}

// Deletes what stands in the place that the hash of a key is to have: a response under the same key that has expired since, and
// was hashed for a person who was erased then.
// Writes: idempotency_keys (primary key). Locks: the rows. Rows: hardly ever any.
// Not the ORM: a batch of keys.

const DELETE_HASHED = `
  delete from idempotency_keys i
  using unnest($3::text[], $4::text[]) as given (path, key)
  where i.organization_id = $1 and i.mode = $2 and i.path = given.path and i.key = given.key`;

export function deleteHashedKeys({ organizationId, mode }: ErasedSubject, keys: readonly KeyPlace[]): Statement<never> {
  const values = [organizationId, mode, keys.map(({ path }) => path), keys.map(({ key }) => hashedKey(key))];
  return { name: 'delete-hashed-keys', text: DELETE_HASHED, values };
}

// Writes the changed ones back. A key that shows the address is replaced by its hash, under which it is found as before.
// Writes: idempotency_keys (primary key). Locks: the rows. Rows: those of one page that show the address.
// Not the ORM: a batch of keys.

const WRITE = `
  update idempotency_keys i
  set response = given.response::jsonb, key = given.left_key
  from unnest($3::text[], $4::text[], $5::text[], $6::text[]) as given (path, key, response, left_key)
  where i.organization_id = $1 and i.mode = $2 and i.path = given.path and i.key = given.key`;

export interface ErasedKey extends StoredKey {
  /** It shows the address. */
  readonly isHashed: boolean;
}

export function writeStoredKeys({ organizationId, mode }: ErasedSubject, keys: readonly ErasedKey[]): Statement<never> {
  return {
    name: 'write-erased-keys',
    text: WRITE,
    values: [
      organizationId,
      mode,
      keys.map((row) => row.path),
      keys.map((row) => row.key),
      keys.map((row) => JSON.stringify(row.response)),
      keys.map((row) => (row.isHashed ? hashedKey(row.key) : row.key)),
    ],
  };
}
