// Locks, reads and stores the idempotency keys of a batch. Locks are tried without waiting: a key that another process holds must
// not delay the rest of the batch. They end with the transaction.
// Reads and writes: idempotency_keys (primary key). Locks: advisory, per key. Rows: the keyed requests of one batch.
// Not the ORM: try-locks and batches.
import type { Statement } from '../../../../../database/statements/statement';
import { hashedKey, type IdempotencyClaim } from '../../request/idempotency';
import type { ItemResult, KeyedResponse } from '../../request/send-request';

const LOCK = `
  select pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', organization_id, mode, path, key), 0)) as locked
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[])
    with ordinality as k (organization_id, mode, path, key, ordinality)
  order by ordinality`;

/** Returns one row per claim, in order. A lock that this transaction holds already counts as locked. */
export function lockIdempotencyKeys(claims: readonly IdempotencyClaim[]): Statement<{ locked: boolean }> {
  return { name: 'lock-idempotency-keys', text: LOCK, values: columns(claims) };
}

export interface StoredResponse {
  /** Index into the claims. */
  index: number;
  fingerprint: Buffer;
  response: ItemResult | ItemResult[];
}

const FIND = `
  select k.ordinality::int - 1 as index, i.fingerprint, i.response
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
    with ordinality as k (organization_id, mode, path, key, hashed, ordinality)
  join idempotency_keys i on i.organization_id = k.organization_id and i.mode = k.mode and i.path = k.path
    and i.key in (k.key, k.hashed)
  where i.created_at > $6`;

/** Claims without a stored response have no row. A separate statement, so that its snapshot is taken after the locks. */
export function findStoredResponses(claims: readonly IdempotencyClaim[], notBefore: Date): Statement<StoredResponse> {
  const hashed = claims.map(({ key }) => hashedKey(key));
  return { name: 'find-stored-responses', text: FIND, values: [...columns(claims), hashed, notBefore] };
}

const STORE = `
  insert into idempotency_keys (organization_id, mode, path, key, fingerprint, response, created_at)
  select organization_id, mode, path, key, fingerprint, response::jsonb, $7
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[])
    as k (organization_id, mode, path, key, fingerprint, response)
  on conflict (organization_id, mode, path, key) do update
    set fingerprint = excluded.fingerprint, response = excluded.response, created_at = excluded.created_at`;

/** Replaces an expired response under the same key; `findStoredResponses` finds one that has not expired. @param rows each key once */
export function storeResponses(rows: readonly KeyedResponse[], now: Date): Statement<never> {
  const claims = rows.map((row) => row.claim);
  const responses = rows.map((row) => JSON.stringify(row.response));
  const fingerprints = claims.map((claim) => claim.fingerprint);
  return { name: 'store-responses', text: STORE, values: [...columns(claims), fingerprints, responses, now] };
}

// Deletes expired idempotency keys.
// Writes: idempotency_keys (index on created_at). Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete.

const DELETE_EXPIRED = `
  delete from idempotency_keys i
  using (
    select organization_id, mode, path, key
    from idempotency_keys
    where created_at < $1
    order by created_at
    limit $2
    for update skip locked
  ) expired
  where i.organization_id = expired.organization_id and i.mode = expired.mode
    and i.path = expired.path and i.key = expired.key
  returning 1 as deleted`;

/** Returns one row per deleted key. @param before keys stored earlier have expired */
export function deleteExpiredKeys(before: Date, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-expired-keys', text: DELETE_EXPIRED, values: [before, limit] };
}

function columns(claims: readonly IdempotencyClaim[]): unknown[] {
  return [
    claims.map((claim) => claim.organizationId),
    claims.map((claim) => claim.mode),
    claims.map((claim) => claim.path),
    claims.map((claim) => claim.key),
  ];
}
