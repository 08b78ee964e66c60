// Which mail exchangers took a tenant's emails: for what their recipients' servers tell later by mail.
// Reads: email_events (primary key; the events of each email). Locks: none; the emails are locked. Rows: the deliveries of the
// emails that one batch of reports is about. Not asked of what the worker records.
// Not the ORM: a batch of keys in one round trip.
import type { Tenant } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statement';

export interface DeliveredTo {
  readonly emailId: string;
  readonly recipient: string;
  readonly mxHost: string;
}

// What a relay notifies of names hosts that this service has not spoken to.
const FIND = `
  select found.*
  from unnest($3::uuid[]) as wanted (id)
  cross join lateral (
    select e.email_id as "emailId", e.data ->> 'recipient' as recipient, e.data ->> 'mxHost' as "mxHost"
    from email_events e
    where e.organization_id = $1 and e.mode = $2 and e.email_id = wanted.id and e.event_type = 'delivered'
      and e.source = 'smtp' and e.data ? 'mxHost'
    order by e.sequence
  ) found`;

export function findDeliveredTo({ organizationId, mode }: Tenant, emailIds: readonly string[]): Statement<DeliveredTo> {
  return { name: 'find-delivered-to', text: FIND, values: [organizationId, mode, [...new Set(emailIds)]] };
}
