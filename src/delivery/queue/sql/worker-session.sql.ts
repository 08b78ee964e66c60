// A worker session's life: begin, renew, end. Time is the database's own.
// Writes: worker_sessions (primary key). Locks: the session's row. Rows: one.
// Not the ORM: interval arithmetic on the server's clock.
import type { Statement } from '../../../database/statement';

const BEGIN = `
  insert into worker_sessions (id, host, process_id, lease_until)
  values ($1, $2, $3, now() + make_interval(secs => $4))`;

export function beginSession(id: string, host: string, processId: number, leaseSeconds: number): Statement<never> {
  return { name: 'begin-session', text: BEGIN, values: [id, host, processId, leaseSeconds] };
}

const RENEW = `
  update worker_sessions
  set lease_until = now() + make_interval(secs => $2)
  where id = $1 and lease_until > now()
  returning id`;

/** No row: the lease has ended, and others may own the claims by now. */
export function renewSession(id: string, leaseSeconds: number): Statement<{ id: string }> {
  return { name: 'renew-session', text: RENEW, values: [id, leaseSeconds] };
}

const END = `update worker_sessions set lease_until = now() where id = $1`;

/** The next reaper buries it, with whatever it still held. */
export function endSession(id: string): Statement<never> {
  return { name: 'end-session', text: END, values: [id] };
}
