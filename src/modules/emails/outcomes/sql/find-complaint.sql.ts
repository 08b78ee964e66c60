// Whether an email has a complaint that is of no one recipient.
// Reads: email_events (primary key). Locks: none. Rows: 0 or 1, of one email's events.
// Not the ORM: the look into the event's JSON, within a transaction and without one.
import type { Statement } from '../../../../database/statement';
import type { EmailKey } from '../../../../delivery/ports/delivery';

const TEXT = `
  select 1 as found
  from email_events
  where organization_id = $1 and mode = $2 and email_id = $3 and event_type = 'spam_report'
    and data ->> 'recipient' is null
  limit 1`;

export function findComplaint({ organizationId, mode, emailId }: EmailKey): Statement<{ found: 1 }> {
  return { name: 'find-complaint', text: TEXT, values: [organizationId, mode, emailId] };
}
