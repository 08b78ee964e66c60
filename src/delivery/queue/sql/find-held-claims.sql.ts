// What the database says a session holds since before $2: for finding claims that their worker does not know of.
// Reads: deliveries (partial index deliveries_claimed). Locks: none. Rows: those under way in one worker.
// Not the ORM: the queue has no entity.
import type { Statement } from '../../../database/statement';
import type { ClaimedDelivery } from '../../ports/delivery';
import { CLAIMED_COLUMNS } from './claim-deliveries.sql';

const TEXT = `
  select ${CLAIMED_COLUMNS}
  from deliveries d
  where d.session_id = $1 and d.state = 'claimed' and d.claimed_at < $2`;

export function findHeldClaims(sessionId: string, claimedBefore: Date): Statement<ClaimedDelivery> {
  return { name: 'find-held-claims', text: TEXT, values: [sessionId, claimedBefore] };
}
