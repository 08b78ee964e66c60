// Removes dead worker sessions that hold nothing any more; not at once, because a claim that was under way when the lease
// ended must find its session, or no reaper would free it.
// Writes: worker_sessions. Reads: deliveries (partial index deliveries_claimed). Locks: the removed rows. Rows: a few.
// Not the ORM: an anti-join.
import type { Statement } from '../../../database/statement';

const TEXT = `
  delete from worker_sessions s
  where s.lease_until < now() - interval '10 minutes'
    and not exists (select 1 from deliveries d where d.session_id = s.id and d.state = 'claimed')`;

export function burySessions(): Statement<never> {
  return { name: 'bury-sessions', text: TEXT, values: [] };
}
