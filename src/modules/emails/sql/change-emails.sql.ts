import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { EmailEvent } from '../email.entity';

// Changes an email on request: its time, and its links to resent emails.
// Writes: emails, email_recipients (primary keys), email_events (insert). Locks: the rows of one email; where several are linked, in
// the order of their ids. Rows: one email each.
// Not the ORM: the database generates the event's id, and its sequence comes from the row.
const RESCHEDULE = `
  update emails e
  set scheduled_for = $4, status = 'scheduled', event_sequence = e.event_sequence + 1, updated_at = $5
  where e.organization_id = $1 and e.mode = $2 and e.id = $3
  returning e.event_sequence as sequence`;

const RESCHEDULE_RECIPIENTS = `
  update email_recipients r
  set status = 'scheduled', updated_at = $4
  where r.organization_id = $1 and r.mode = $2 and r.email_id = $3 and r.status in ('queued', 'scheduled', 'sending')`;

// A separate statement: together with the update, a cluster node would generate the id by its own clock (docs/scaling.md).
const ADD_SCHEDULED = `
  insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
  values ($1, $2, $3, $4, event_id(clock_timestamp(), 1), 'scheduled', 'api', clock_timestamp(), $5::jsonb)`;

/** Takes the next sequence of the email's events for `addScheduledEvent`, and returns it. The caller has locked the email's deliveries. */
export function rescheduleEmail(email: EmailKey, scheduledAt: Date, now: Date): Statement<{ sequence: number }> {
  return { name: 'reschedule-email', text: RESCHEDULE, values: [...keyOf(email), scheduledAt, now] };
}

/**
 * Sets the status of recipients that have not ended to `scheduled`, also of one that a worker has held and given back without an attempt
 * (`sending`); `rescheduleEmail` changes the email itself.
 */
export function rescheduleRecipients(email: EmailKey, now: Date): Statement<never> {
  return { name: 'reschedule-recipients', text: RESCHEDULE_RECIPIENTS, values: [...keyOf(email), now] };
}

/** Adds the event `scheduled`, whose data has the new time. @param sequence from `rescheduleEmail` */
export function addScheduledEvent(email: EmailKey, sequence: number, scheduledAt: Date): Statement<never> {
  const data = JSON.stringify({ scheduledAt: scheduledAt.toISOString() });
  return { name: 'add-scheduled-event', text: ADD_SCHEDULED, values: [...keyOf(email), sequence, data] };
}

const SENT_AGAIN_AS = `
  update emails e
  set resent_as = (array[$4::uuid] || coalesce(e.resent_as, '{}'))[1:100]
  where e.organization_id = $1 and e.mode = $2 and e.id = $3`;

const SENT_AGAIN_FROM = `
  update emails e set resent_from = $4 where e.organization_id = $1 and e.mode = $2 and e.id = $3`;

/** Links an email and the one resent from it, both ways; the original lists the last hundred. */
export function linkResent(original: EmailKey, repeatedAs: string): Statement<never>[] {
  const { organizationId, mode, emailId } = original;
  return [
    { name: 'email-sent-again-as', text: SENT_AGAIN_AS, values: [organizationId, mode, emailId, repeatedAs] },
    { name: 'email-sent-again-from', text: SENT_AGAIN_FROM, values: [organizationId, mode, repeatedAs, emailId] },
  ];
}

function keyOf({ organizationId, mode, emailId }: EmailKey): string[] {
  return [organizationId, mode, emailId];
}

// Finds an attempt at an email whose outcome is unknown: the claims of a crashed worker are as new, and the mail may have been sent.
// Reads: email_events (primary key). Locks: none. Rows: one. Not the ORM: within the transaction that has locked the deliveries.
const FIND_UNKNOWN = `
  select from email_events
  where organization_id = $1 and mode = $2 and email_id = $3 and event_type = 'unknown'
  limit 1`;

/** One row if there is any. */
export function findUnknown(email: EmailKey): Statement<object> {
  return { name: 'find-unknown-attempt', text: FIND_UNKNOWN, values: keyOf(email) };
}

// Finds the last attempts at a tenant's emails that were deferred or had an unknown outcome: one of each recipient, without the whole
// reply. All attempts at 50 recipients are 11 MB if a server refuses them for days.
// Reads: email_events (primary key; the events of each email). Locks: none. Rows: one for each recipient of a page of deliveries.
// One tenant per statement (docs/scaling.md). Not the ORM: a page of many tenants in one round trip.
export type Deferral = EmailKey & Pick<EmailEvent, 'eventType' | 'data' | 'trace'>;

const FIND = `
  select found.*
  from unnest($3::uuid[]) as wanted (id)
  cross join lateral (
    select distinct on (e.data ->> 'recipient')
      e.organization_id as "organizationId", e.mode, e.email_id as "emailId", e.event_type as "eventType",
      e.data - 'lines' as data, e.trace
    from email_events e
    where e.organization_id = $1 and e.mode = $2 and e.email_id = wanted.id and e.event_type in ('deferred', 'unknown')
    order by e.data ->> 'recipient', e.sequence desc
  ) found`;

/** @param emails of this tenant */
export function findDeferrals({ organizationId, mode }: Tenant, emails: readonly EmailKey[]): Statement<Deferral> {
  const ids = emails.map(({ emailId }) => emailId);
  return { name: 'find-deferrals', text: FIND, values: [organizationId, mode, ids] };
}
