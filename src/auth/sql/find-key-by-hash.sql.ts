// The key and its organization's status by the key's SHA-256; asked for once per key and cache lifetime.
// Reads: api_keys (unique index api_keys_hash), organizations (primary key). Locks: none. Rows: 0 or 1.
// Not the ORM: on the path of every request that misses the cache (0.15 ms instead of 0.4 ms with an entity and a join).
import type { Mode } from '../../common/tenant';
import type { Statement } from '../../database/statement';

export interface KeyByHash {
  id: string;
  organizationId: string;
  mode: Mode;
  scopes: string[];
  domainId: string | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
  organizationStatus: 'active' | 'suspended';
}

const TEXT = `
  select
    k.id,
    k.organization_id as "organizationId",
    k.mode,
    k.scopes,
    k.domain_id as "domainId",
    k.expires_at as "expiresAt",
    k.revoked_at as "revokedAt",
    o.status as "organizationStatus"
  from api_keys k
  join organizations o on o.id = k.organization_id
  where k.hash = $1`;

export function findKeyByHash(hash: Buffer): Statement<KeyByHash> {
  return { name: 'find-key-by-hash', text: TEXT, values: [hash] };
}
