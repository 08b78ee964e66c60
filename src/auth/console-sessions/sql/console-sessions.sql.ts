import type { Statement } from '../../../database/statements/statement';

// Ends the oldest sessions of a key, all but the newest $3.
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

/** @param keep how many of the newest sessions stay */
export function endOldestSessions(organizationId: string, keyId: string, keep: number): Statement<never> {
  return { name: 'end-oldest-console-sessions', text: END_OLDEST, values: [organizationId, keyId, keep] };
}
