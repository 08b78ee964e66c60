// The hot statements on api_keys: the look-up of every request's key, and the record of its use.
import type { Mode } from '../../common/tenant';
import type { Statement } from '../../database/statement';

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

const FIND_BY_HASH = `
  select
    k.id,
    k.organization_id as "organizationId",
    k.mode,
    k.scopes,
    k.domain_id as "domainId",
    k.session_only as "sessionOnly",
    k.expires_at as "expiresAt",
    k.revoked_at as "revokedAt",
    o.status as "organizationStatus"
  from api_keys k
  join organizations o on o.id = k.organization_id
  where k.hash = $1`;

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

export function touchKeys(uses: readonly KeyUse[]): Statement<never> {
  return {
    name: 'touch-keys',
    text: TOUCH,
    values: [uses.map((use) => use.organizationId), uses.map((use) => use.id), uses.map((use) => use.usedAt)],
  };
}
