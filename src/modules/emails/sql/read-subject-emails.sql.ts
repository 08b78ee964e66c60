// What is known of emails to a data subject: heads with bodies, and events.
// Reads: emails, email_contents, email_events (primary keys). Locks: none. Rows: a page of emails, with all their events.
// Not the ORM: all three columns of the keys come from arrays, so that the primary keys are used whatever the planner knows
// of the tables; by `organization_id` and `mode` alone it would walk through all of a tenant's events.
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { Statement } from '../../../database/statement';
import type { Email } from '../email.entity';
import type { EmailContent } from '../email-content.entity';
import type { EmailEvent } from '../email-event.entity';
import { keyColumns } from './lock-emails.sql';

export type SubjectEmailHead = Pick<
  Email,
  'id' | 'fromEmail' | 'toEmails' | 'ccEmails' | 'bccEmails' | 'subject' | 'status' | 'createdAt'
> &
  Pick<EmailContent, 'html' | 'text'>;

export type SubjectEvent = Pick<EmailEvent, 'emailId' | 'id' | 'eventType' | 'occurredAt' | 'data'>;

const EMAILS = `
  select
    e.id, e.from_email as "fromEmail", e.to_emails as "toEmails", e.cc_emails as "ccEmails", e.bcc_emails as "bccEmails",
    e.subject, e.status, e.created_at as "createdAt", c.html, c.text
  from unnest($1::uuid[], $2::text[], $3::uuid[]) as wanted (organization_id, mode, id)
  join emails e using (organization_id, mode, id)
  left join email_contents c
    on c.organization_id = wanted.organization_id and c.mode = wanted.mode and c.email_id = wanted.id
  order by e.id`;

/** By id; `html` and `text` are null when there is none, or no more. */
export function readSubjectEmails(keys: readonly EmailKey[]): Statement<SubjectEmailHead> {
  return { name: 'read-subject-emails', text: EMAILS, values: keyColumns(keys) };
}

/** The order within leaves the planner no other index than the primary key. */
const EVENTS = `
  select v."emailId", v.id, v."eventType", v."occurredAt", v.data
  from unnest($1::uuid[], $2::text[], $3::uuid[]) with ordinality as wanted (organization_id, mode, email_id, place)
  cross join lateral (
    select e.email_id as "emailId", e.sequence, e.id, e.event_type as "eventType", e.occurred_at as "occurredAt", e.data
    from email_events e
    where e.organization_id = wanted.organization_id and e.mode = wanted.mode and e.email_id = wanted.email_id
    order by e.sequence
  ) v
  order by wanted.place, v.sequence`;

/** Of each email in the order in which they were recorded. */
export function readSubjectEvents(keys: readonly EmailKey[]): Statement<SubjectEvent> {
  return { name: 'read-subject-events', text: EVENTS, values: keyColumns(keys) };
}
