import type { Mode } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';

// The frequent statements on keys: they find every request's key, by itself or by a cookie's session, and record its use.

// The key and its organization's status by the key's SHA-256; run once per key and cache lifetime.
// Reads: api_keys (unique index api_keys_hash), organizations (primary key). Locks: none. Rows: 0 or 1.
// Not the ORM: on the path of every request that misses the cache (0.15 ms instead of 0.4 ms with an entity and a join).
export interface KeyByHash {
  id: string;
  organizationId: string;
  mode: Mode;
  scopes: string[];
  domainId: string | null;
  sessionOnly: boolean;
  expiresAt: Date | null;
  revokedAt: Date | null;
  organizationStatus: 'active' | 'suspended';
}

/** SQL: a key `k` with its organization `o`. */
const KEY_COLUMNS = `
    k.id,
    k.organization_id as "organizationId",
    k.mode,
    k.scopes,
    k.domain_id as "domainId",
    k.session_only as "sessionOnly",
    k.expires_at as "expiresAt",
    k.revoked_at as "revokedAt",
    o.status as "organizationStatus"`;

const FIND_BY_HASH = `
  select ${KEY_COLUMNS}
  from api_keys k
  join organizations o on o.id = k.organization_id
  where k.hash = $1`;

/**
 * @param hash SHA-256 of the presented key. Revoked and expired keys are returned as well: the caller tells them apart.
 */
export function findKeyByHash(hash: Buffer): Statement<KeyByHash> {
  return { name: 'find-key-by-hash', text: FIND_BY_HASH, values: [hash] };
}

// Records when keys were last used, many at a time.
// Writes: api_keys (primary key). Locks: rows in primary-key order. Rows: the keys used in the last seconds.
// Not the ORM: one statement for all keys instead of one each.
export interface KeyUse {
  organizationId: string;
  id: string;
  usedAt: Date;
}

const TOUCH = `
  with used as (
    select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as u (organization_id, id, used_at)
  ), locked as (
    select k.organization_id, k.id, used.used_at
    from api_keys k join used using (organization_id, id)
    order by k.organization_id, k.id
    for update of k
  )
  update api_keys k
  set last_used_at = greatest(k.last_used_at, locked.used_at)
  from locked
  where k.organization_id = locked.organization_id and k.id = locked.id`;

/** @param uses each key once; a time earlier than the stored one changes nothing */
export function touchKeys(uses: readonly KeyUse[]): Statement<never> {
  return {
    name: 'touch-keys',
    text: TOUCH,
    values: [uses.map((use) => use.organizationId), uses.map((use) => use.id), uses.map((use) => use.usedAt)],
  };
}

// The session's key and its organization's status, by the SHA-256 of the session id; run once per session and cache lifetime.
// Reads: console_sessions (primary key), api_keys, organizations (primary keys). Locks: none. Rows: 0 or 1.
// Not the ORM: on the path of every console request that misses the cache, like `findKeyByHash`.
export interface KeyBySession extends KeyByHash {
  sessionExpiresAt: Date;
}

const FIND_BY_SESSION = `
  select ${KEY_COLUMNS},
    s.expires_at as "sessionExpiresAt"
  from console_sessions s
  join api_keys k on k.organization_id = s.organization_id and k.id = s.key_id
  join organizations o on o.id = s.organization_id
  where s.hash = $1`;

/** @param hash SHA-256 of the session id. Ended sessions may still be there: the caller compares `sessionExpiresAt`. */
export function findKeyBySession(hash: Buffer): Statement<KeyBySession> {
  return { name: 'find-key-by-console-session', text: FIND_BY_SESSION, values: [hash] };
}

// Deletes up to $2 keys that were made for one session of the console and ended before $1.
// Writes: api_keys or operator_keys (no index: they are few, and this runs every six hours). Locks: the rows, skip locked. Rows: up to $2.
// Without organization: the same for all. Not the ORM: a bounded delete.
const removalFrom = (table: 'api_keys' | 'operator_keys') => `
  delete from ${table}
  where id in (
    select id
    from ${table}
    where session_only and expires_at < $1
    limit $2
    for update skip locked
  )
  returning 1 as deleted`;

const DELETE_ENDED = {
  api_keys: { name: 'delete-ended-session-keys', text: removalFrom('api_keys') },
  operator_keys: { name: 'delete-ended-operator-session-keys', text: removalFrom('operator_keys') },
};

/** One row for each deleted key. */
export function deleteEndedSessionKeys(
  table: keyof typeof DELETE_ENDED,
  before: Date,
  limit: number,
): Statement<{ deleted: 1 }> {
  return { ...DELETE_ENDED[table], values: [before, limit] };
}

// Deletes up to 1,000 revoked or expired keys of an organization beyond its newest $3, those that ended first; not those of sessions.
// Reads: api_keys (primary key: an organization has about 1,000). Locks: the rows, skip locked. Rows: mostly 0 or 1.
// Not the ORM: it cannot delete by an offset.
const DELETE_OLDEST_ENDED = `
  delete from api_keys
  where organization_id = $1 and id in (
    select id
    from api_keys
    where organization_id = $1 and not session_only and least(revoked_at, expires_at) <= $2
    order by least(revoked_at, expires_at) desc, id desc
    offset $3
    limit 1000
    for update skip locked
  )`;

/** @param keep how many of the keys that ended last stay */
export function deleteOldestEndedKeys(organizationId: string, now: Date, keep: number): Statement<never> {
  return { name: 'delete-oldest-ended-keys', text: DELETE_OLDEST_ENDED, values: [organizationId, now, keep] };
}
