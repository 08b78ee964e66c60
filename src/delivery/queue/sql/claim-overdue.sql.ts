// Claims what has outlived its time without its turn having come (a destination held back for days), so that it can be ended.
// Writes: deliveries, found by a scan of the open work every few minutes. Locks: rows, skip locked. Rows: up to $3.
// Not the ORM: SKIP LOCKED inside an update.
import type { Statement } from '../../../database/statement';
import type { ClaimedDelivery } from '../../ports/delivery';
import { CLAIMED_COLUMNS } from './claim-deliveries.sql';

const TEXT = `
  with overdue as (
    select organization_id, mode, email_id, position
    from deliveries
    where state in ('waiting', 'ready') and (expires_at <= $2 or first_due_at < $4)
      and exists (select 1 from worker_sessions where id = $1 and lease_until > now())
    order by organization_id, mode, email_id, position
    limit $3
    for update skip locked
  )
  update deliveries d
  set state = 'claimed', session_id = $1, claim_token = d.claim_token + 1, attempt = d.attempt + 1, claimed_at = $2
  from overdue o
  where d.organization_id = o.organization_id and d.mode = o.mode and d.email_id = o.email_id and d.position = o.position
  returning ${CLAIMED_COLUMNS}`;

/** @param bornBefore deliveries first due before it have used up their life */
export function claimOverdue(
  sessionId: string,
  now: Date,
  limit: number,
  bornBefore: Date,
): Statement<ClaimedDelivery> {
  return { name: 'claim-overdue', text: TEXT, values: [sessionId, now, limit, bornBefore] };
}
