// Attempts of a tenant's emails that are to be repeated, those of each in the order in which they were recorded.
// Reads: email_events (primary key; the events of each email). Locks: none. Rows: the deferrals of one page of deliveries.
// One tenant by parameter (docs/scaling.md). Not the ORM: a page of many tenants in one round trip.
import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { EmailEvent } from '../email.entity';

export type Deferral = EmailKey & Pick<EmailEvent, 'eventType' | 'data' | 'trace'>;

const FIND = `
  select found.*
  from unnest($3::uuid[]) as wanted (id)
  cross join lateral (
    select
      e.organization_id as "organizationId", e.mode, e.email_id as "emailId", e.event_type as "eventType",
      e.data, e.trace
    from email_events e
    where e.organization_id = $1 and e.mode = $2 and e.email_id = wanted.id and e.event_type in ('deferred', 'unknown')
    order by e.sequence
  ) found`;

/** @param emails of this tenant */
export function findDeferrals({ organizationId, mode }: Tenant, emails: readonly EmailKey[]): Statement<Deferral> {
  const ids = emails.map(({ emailId }) => emailId);
  return { name: 'find-deferrals', text: FIND, values: [organizationId, mode, ids] };
}
