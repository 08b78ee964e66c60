// Frees the claims of worker sessions whose lease has ended, a bounded number at a time so that a mass recovery is no storm.
// The attempt is not charged; the crash is counted, so that a mail that kills its worker is found out.
// Writes: deliveries (partial index deliveries_claimed). Locks: rows, skip locked. Rows: up to $1.
// Not the ORM: SKIP LOCKED across a join. Time is the database's own, the one clock that all workers share.
import type { Statement } from '../../../database/statement';
import type { DeliveryKey } from '../../ports/delivery';

export interface FreedDelivery extends DeliveryKey {
  domainId: string;
  recipient: string;
  attempt: number;
}

const TEXT = `
  with orphans as (
    select d.organization_id, d.mode, d.email_id, d.position
    from worker_sessions s
    join deliveries d on d.session_id = s.id and d.state = 'claimed'
    where s.lease_until < now()
    order by d.organization_id, d.mode, d.email_id, d.position
    limit $1
    for update of d skip locked
  )
  update deliveries d
  set state = 'ready', session_id = null, attempt = d.attempt - 1, crashes = d.crashes + 1
  from orphans o
  where d.organization_id = o.organization_id and d.mode = o.mode and d.email_id = o.email_id and d.position = o.position
  returning
    d.organization_id as "organizationId",
    d.mode,
    d.email_id as "emailId",
    d.position,
    d.domain_id as "domainId",
    d.recipient,
    d.attempt + 1 as attempt`;

export function reapSessions(limit: number): Statement<FreedDelivery> {
  return { name: 'reap-sessions', text: TEXT, values: [limit] };
}
