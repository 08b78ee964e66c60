// Lists the next emails to an address, by id, until their weight reaches $7: the bytes of bodies and raw messages, and 1,000 for each
// event.
// Reads: email_recipients (email_recipients_address), emails, email_contents, email_attachments (primary keys; of contents the
// lengths only). Locks: none. Rows: up to $6. Not the ORM: a running sum, which limits the memory of the page.
import type { CompactEvent } from '../../../events/event-rows';
import { lowerForms, lowerFormsInIndex, lowerInSql } from '../../../../common/address-forms';
import type { Mode, Tenant } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statements/statement';
import type { EmailStatus } from '../../outcomes/email-state';

export interface SubjectScope {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Normal form. */
  readonly address: string;
}

export interface SubjectRange {
  /** The last id of the page before. */
  readonly after: string;
  /** Ids from this one on are left out. */
  readonly before: string;
}

/** Limits of a page. */
export interface PageLimits {
  readonly emails: number;
  readonly bytes: number;
}

/** An SMTP reply has 500 characters at most. */
const EVENT_BYTES = 1_000;

const LIST = `
  with received as materialized (
    select distinct r.email_id
    from unnest($1::text[]) as k (key)
    cross join lateral (
      select distinct email_id
      from email_recipients
      where lower(address) = k.key and ${lowerInSql('address')} = any ($8)
        and organization_id = $2 and mode = $3 and email_id > $4 and email_id < $5
      order by email_id
      limit $6
    ) r
    order by r.email_id
    limit $6
  ), weighed as (
    select r.email_id as id,
      coalesce(octet_length(c.html), 0) + coalesce(octet_length(c.text), 0) + e.event_sequence * ${EVENT_BYTES}
        + case when c.is_raw then (
          select coalesce(sum(a.size), 0)
          from email_attachments a
          where a.organization_id = $2 and a.mode = $3 and a.email_id = r.email_id
        ) else 0 end as bytes
    from received r
    cross join lateral (
      select event_sequence from emails where organization_id = $2 and mode = $3 and id = r.email_id limit 1
    ) e
    left join lateral (
      select html, text, is_raw from email_contents where organization_id = $2 and mode = $3 and email_id = r.email_id limit 1
    ) c on true
  )
  select id
  from (select id, sum(bytes) over (order by id) - bytes as bytes_before from weighed) summed
  where bytes_before < $7
  order by id`;

/** Returns at least one email, if there is one, whatever its size. The last one may exceed the weight. */
export function listSubjectEmails(
  { organizationId, mode, address }: SubjectScope,
  { after, before }: SubjectRange,
  limits: PageLimits,
): Statement<{ id: string }> {
  const keys = lowerForms(address);
  return {
    name: 'list-subject-emails',
    text: LIST,
    values: [lowerFormsInIndex(keys), organizationId, mode, after, before, limits.emails, limits.bytes, keys],
  };
}

// Reads the stored data of emails to a data subject: heads with bodies, and events.
// Reads: emails, email_contents, email_attachments, email_events (primary keys). Locks: none. Rows: a page of emails, with all
// their events.
// Not the ORM: a batch of keys joined across four partitioned tables. Lateral subqueries are evaluated key by key, whatever the
// planner's statistics; by organization_id and mode alone it would scan all rows of the tenant.

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
  /** Null when there are none, when they are no longer stored, and for a raw message. */
  readonly attachments: readonly SubjectAttachment[] | null;
  /** A raw message, stored in parts, which contains text, html, headers and attachments. */
  readonly isRaw: boolean;
}

/** An attachment without its bytes. */
export interface SubjectAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly sizeBytes: number;
}

export interface SubjectEvent extends CompactEvent {
  readonly emailId: string;
}

const EMAILS = `
  select
    e.id, e.from_email as "fromEmail", e.to_emails as "toEmails", e.cc_emails as "ccEmails", e.bcc_emails as "bccEmails",
    e.subject, e.status, e.created_at as "createdAt", c.html, c.text, e.reply_to as "replyTo", e.tags, e.metadata, c.headers,
    coalesce(c.is_raw, false) as "isRaw",
    (
      select jsonb_agg(
        jsonb_build_object('filename', a.filename, 'contentType', a.content_type, 'sizeBytes', a.size) order by a.position
      )
      from email_attachments a
      where a.organization_id = $1 and a.mode = $2 and a.email_id = wanted.id
        and not c.is_raw
    ) as attachments
  from unnest($3::uuid[]) as wanted (id)
  cross join lateral (
    select id, from_email, to_emails, cc_emails, bcc_emails, subject, status, created_at, reply_to, tags, metadata
    from emails
    where organization_id = $1 and mode = $2 and id = wanted.id
    limit 1
  ) e
  left join lateral (
    select html, text, headers, is_raw
    from email_contents
    where organization_id = $1 and mode = $2 and email_id = wanted.id
    limit 1
  ) c on true
  order by e.id`;

/** In the order of ids; deleted emails have no row. `html` and `text` are null when absent or no longer stored. */
export function readSubjectEmails(
  { organizationId, mode }: Tenant,
  emailIds: readonly string[],
): Statement<SubjectEmailHead> {
  return { name: 'read-subject-emails', text: EMAILS, values: [organizationId, mode, emailIds] };
}

/** The inner order leaves the planner only the primary key: by the index of the feed it would scan all events of the tenant. */
const EVENTS = `
  select v.*
  from unnest($3::uuid[]) with ordinality as wanted (email_id, place)
  cross join lateral (
    select
      e.email_id as "emailId", e.sequence, e.id, e.event_type as "eventType", e.source, e.occurred_at as "occurredAt", e.data,
      e.sending_ms as "sendingMs", e.also_sent as "alsoSent"
    from email_events e
    where e.organization_id = $1 and e.mode = $2 and e.email_id = wanted.email_id
    order by e.sequence
  ) v
  order by wanted.place, v.sequence`;

/** Per email, in the order in which they were recorded; to be expanded. */
export function readSubjectEvents(
  { organizationId, mode }: Tenant,
  emailIds: readonly string[],
): Statement<SubjectEvent> {
  return { name: 'read-subject-events', text: EVENTS, values: [organizationId, mode, emailIds] };
}
