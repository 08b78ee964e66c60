// The hot statement on console_sessions: the look-up of a cookie's session with its key.
import type { Statement } from '../../database/statement';
import type { KeyByHash } from './api-keys.sql';

// The session's key and its organization's status, by the SHA-256 of the session id; run once per session and cache lifetime.
// Reads: console_sessions (primary key), api_keys, organizations (primary keys). Locks: none. Rows: 0 or 1.
// Not the ORM: on the path of every request of the console that misses the cache, like the look-up of a key.
export interface KeyBySession extends KeyByHash {
  sessionExpiresAt: Date;
}

const FIND_BY_SESSION = `
  select
    k.id,
    k.organization_id as "organizationId",
    k.mode,
    k.scopes,
    k.domain_id as "domainId",
    k.session_only as "sessionOnly",
    k.expires_at as "expiresAt",
    k.revoked_at as "revokedAt",
    o.status as "organizationStatus",
    s.expires_at as "sessionExpiresAt"
  from console_sessions s
  join api_keys k on k.organization_id = s.organization_id and k.id = s.key_id
  join organizations o on o.id = s.organization_id
  where s.hash = $1`;

export function findKeyBySession(hash: Buffer): Statement<KeyBySession> {
  return { name: 'find-key-by-console-session', text: FIND_BY_SESSION, values: [hash] };
}

// Ends the oldest sessions of a key, all but so many.
// Writes: console_sessions (index console_sessions_key). Locks: the rows it deletes, oldest first. Rows: mostly none.
// Not the ORM: it cannot delete by an offset.
const END_OLDEST = `
  delete from console_sessions
  where hash in (
    select hash
    from console_sessions
    where organization_id = $1 and key_id = $2
    order by created_at desc, hash
    offset $3
  )`;

export function endOldestSessions(organizationId: string, keyId: string, keep: number): Statement<never> {
  return { name: 'end-oldest-console-sessions', text: END_OLDEST, values: [organizationId, keyId, keep] };
}
