// The next emails to an address, by id, as many as fit into a weight: content bytes, and so many for each event.
// Reads: email_recipients (email_recipients_address), emails, email_contents (primary keys; the bodies' lengths only).
// Locks: none. Rows: up to $6. Not the ORM: the running sum that bounds what the page will hold in memory.
import type { EventType } from '../../../../common/event-types';
import type { Mode } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statement';
import type { EmailKey } from '../../../../delivery/ports/delivery';
import type { EmailStatus } from '../../outcomes/email-state';
import { keyColumns } from '../../outcomes/sql/lock-emails.sql';

export interface SubjectScope {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Normal form. */
  readonly address: string;
}

export interface SubjectRange {
  /** The last id of the page before. */
  readonly after: string;
  /** No id from this one on. */
  readonly before: string;
}

/** What a page may hold. */
export interface PageLimits {
  readonly emails: number;
  readonly bytes: number;
}

/** An SMTP reply has 500 characters at most. */
const EVENT_BYTES = 1_000;

/** Materialized, so that the look-ups get all three columns of the keys from it, whatever the planner knows of the tables. */
const LIST = `
  with received as materialized (
    select distinct organization_id, mode, email_id
    from email_recipients
    where lower(address) = lower($1) and organization_id = $2 and mode = $3 and email_id > $4 and email_id < $5
    order by email_id
    limit $6
  ), weighed as (
    select r.email_id as id,
      coalesce(octet_length(c.html), 0) + coalesce(octet_length(c.text), 0) + e.event_sequence * ${EVENT_BYTES} as bytes
    from received r
    join emails e on e.organization_id = r.organization_id and e.mode = r.mode and e.id = r.email_id
    left join email_contents c
      on c.organization_id = r.organization_id and c.mode = r.mode and c.email_id = r.email_id
  )
  select id
  from (select id, sum(bytes) over (order by id) - bytes as bytes_before from weighed) summed
  where bytes_before < $7
  order by id`;

/** Returns at least one, if there is one: an email of any size is a page. */
export function listSubjectEmails(
  { organizationId, mode, address }: SubjectScope,
  { after, before }: SubjectRange,
  limits: PageLimits,
): Statement<{ id: string }> {
  return {
    name: 'list-subject-emails',
    text: LIST,
    values: [address, organizationId, mode, after, before, limits.emails, limits.bytes],
  };
}

// What is known of emails to a data subject: heads with bodies, and events.
// Reads: emails, email_contents, email_attachments, email_events (primary keys). Locks: none. Rows: a page of emails, with all
// their events.
// Not the ORM: all three columns of the keys come from arrays, so that the primary keys are used whatever the planner knows
// of the tables; by `organization_id` and `mode` alone it would walk through all of a tenant's events.

export interface SubjectEmailHead {
  readonly id: string;
  readonly fromEmail: string;
  readonly toEmails: string[];
  readonly ccEmails: string[] | null;
  readonly bccEmails: string[] | null;
  readonly subject: string;
  readonly status: EmailStatus;
  readonly createdAt: Date;
  readonly html: string | null;
  readonly text: string | null;
  readonly replyTo: string[] | null;
  readonly tags: string[] | null;
  readonly metadata: unknown;
  readonly headers: Record<string, string> | null;
  /** Null when there is none, or no more. */
  readonly attachments: readonly SubjectAttachment[] | null;
}

/** Without its bytes. */
export interface SubjectAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly sizeBytes: number;
}

export interface SubjectEvent {
  readonly emailId: string;
  readonly id: string;
  readonly eventType: EventType;
  readonly occurredAt: Date;
  readonly data: Record<string, unknown>;
}

const EMAILS = `
  select
    e.id, e.from_email as "fromEmail", e.to_emails as "toEmails", e.cc_emails as "ccEmails", e.bcc_emails as "bccEmails",
    e.subject, e.status, e.created_at as "createdAt", c.html, c.text, e.reply_to as "replyTo", e.tags, e.metadata, c.headers,
    (
      select jsonb_agg(
        jsonb_build_object('filename', a.filename, 'contentType', a.content_type, 'sizeBytes', a.size) order by a.position
      )
      from email_attachments a
      where a.organization_id = wanted.organization_id and a.mode = wanted.mode and a.email_id = wanted.id
    ) as attachments
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
