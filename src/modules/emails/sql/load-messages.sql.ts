// Loads a tenant's claimed emails for composing, without their attachments. Includes bodies (of emails without attachments) and raw
// messages of up to 128 KiB, until these take $4 bytes together; octet_length reads only a value's header. A raw message that an
// erasure has emptied counts as deleted.
// Reads: emails, email_contents, email_attachments (primary keys). Locks: none. Rows: the emails of one claim, in any order.
// One tenant per statement, and lateral subqueries, as in lock-emails.
// Not the ORM: a batch of keys joined across two partitioned tables in one round trip.
import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';
import type { DeliveryKey, EmailKey } from '../../../delivery/ports/delivery';
import type { Addressees } from '../email.entity';

export interface LoadedMessage extends EmailKey {
  domainId: string;
  fromEmail: string;
  fromName: string | null;
  subject: string;
  tag: string | null;
  /** When it was accepted, or the time for which it was scheduled. */
  date: Date;
  trackOpens: boolean;
  trackClicks: boolean;
  html: string | null;
  text: string | null;
  /** Size of html and text, or of the raw message; these are null unless `isBodyLoaded`. */
  bodyBytes: number;
  isBodyLoaded: boolean;
  headers: Record<string, string> | null;
  addressees: Addressees;
  /** Size of all attachments, at least 1 when there are any; 0 for a raw message. */
  attachmentBytes: number;
  isRaw: boolean;
  raw: Buffer | null;
}

/** Larger bodies are rare, and each is read by a separate query. */
const SMALL_BODY_BYTES = 128 * 1024;

const MESSAGES = `
  with found as (
    select
      e.*, c.html, c.text, c.headers, c.addressees, c.attachment_count, c.is_raw, size.body_bytes, size.is_small,
      sum(size.body_bytes) filter (where size.is_small) over (order by wanted.ordinality) as small_bytes
    from unnest($3::uuid[]) with ordinality as wanted (id, ordinality)
    cross join lateral (
      select
        organization_id, mode, id, domain_id, from_email, from_name, subject, tags[1] as tag, coalesce(scheduled_for, created_at) as date,
        track_opens, track_clicks
      from emails
      where organization_id = $1 and mode = $2 and id = wanted.id
      limit 1
    ) e
    cross join lateral (
      select html, text, headers, addressees, attachment_count, is_raw
      from email_contents
      where organization_id = $1 and mode = $2 and email_id = wanted.id
      limit 1
    ) c
    cross join lateral (
      select bytes as body_bytes, bytes <= ${SMALL_BODY_BYTES} and (c.attachment_count = 0 or c.is_raw) as is_small
      from (
        select case when c.is_raw then (
          select coalesce(sum(a.size), 0)::int
          from email_attachments a
          where a.organization_id = $1 and a.mode = $2 and a.email_id = wanted.id
        ) else coalesce(octet_length(c.html), 0) + coalesce(octet_length(c.text), 0) end as bytes
      ) measured
    ) size
  )
  select
    f.organization_id as "organizationId",
    f.mode,
    f.id as "emailId",
    f.domain_id as "domainId",
    f.from_email as "fromEmail",
    f.from_name as "fromName",
    f.subject,
    f.tag,
    f.date,
    f.track_opens as "trackOpens",
    f.track_clicks as "trackClicks",
    f.body_bytes as "bodyBytes",
    f.is_small and f.small_bytes <= $4::int as "isBodyLoaded",
    case when f.is_small and f.small_bytes <= $4::int then f.html end as html,
    case when f.is_small and f.small_bytes <= $4::int then f.text end as text,
    f.headers,
    f.addressees,
    f.is_raw as "isRaw",
    case when f.is_raw and f.is_small and f.small_bytes <= $4::int then (
      select a.content
      from email_attachments a
      where a.organization_id = $1 and a.mode = $2 and a.email_id = f.id and a.position = 0
    ) end as raw,
    case when f.attachment_count = 0 or f.is_raw then 0 else (
      select greatest(sum(a.size), 1)::int
      from email_attachments a
      where a.organization_id = $1 and a.mode = $2 and a.email_id = f.id
    ) end as "attachmentBytes"
  from found f
  where not (f.is_raw and f.body_bytes = 0)`;

/** Unknown emails, and those without content, have no row. @param maxBodyBytes of all included bodies and raw messages together */
export function loadMessages(
  { organizationId, mode }: Tenant,
  emailIds: readonly string[],
  maxBodyBytes: number,
): Statement<LoadedMessage> {
  return { name: 'load-messages', text: MESSAGES, values: [organizationId, mode, emailIds, Math.floor(maxBodyBytes)] };
}

// Finds the recipients of a tenant's deliveries, with the sender and when the email was first sent.
// Reads: emails, email_recipients (primary keys). Locks: none. Rows: one batch of hits on links (up to 500), or one unsubscription.
// Not the ORM: a batch of keys of four columns over two tables, in one round trip.
/** The recipient of a delivery, and the sender. */
export interface MailRecipient extends DeliveryKey {
  readonly domainId: string;
  readonly fromEmail: string;
  readonly address: string;
  /** The set of lasting outcomes (`hasSeen`). */
  readonly seen: number;
  /** When the email was first handed to a next hop, for any recipient; null before that. */
  readonly sentAt: Date | null;
}

const RECIPIENTS = `
  select
    r.organization_id as "organizationId",
    r.mode,
    r.email_id as "emailId",
    r.position,
    e.domain_id as "domainId",
    e.from_email as "fromEmail",
    r.address,
    r.seen,
    e.sent_at as "sentAt"
  from unnest($3::uuid[], $4::smallint[]) as wanted (id, position)
  cross join lateral (
    select organization_id, mode, email_id, position, address, seen
    from email_recipients
    where organization_id = $1 and mode = $2 and email_id = wanted.id and position = wanted.position
    limit 1
  ) r
  cross join lateral (
    select domain_id, from_email, sent_at
    from emails
    where organization_id = $1 and mode = $2 and id = wanted.id
    limit 1
  ) e`;

/** In any order; unknown deliveries have no row. @param keys of this tenant */
export function findMailRecipients(
  { organizationId, mode }: Tenant,
  keys: readonly DeliveryKey[],
): Statement<MailRecipient> {
  return {
    name: 'find-mail-recipients',
    text: RECIPIENTS,
    values: [organizationId, mode, keys.map((key) => key.emailId), keys.map((key) => key.position)],
  };
}

// Reads a part of an attachment's bytes, or of a part of a raw message.
// Reads: email_attachments (primary key). Locks: none. Rows: one.
// Not the ORM: a part of a value. As a whole, the driver would convert 50 MB of text for 25 MiB in one turn of the event loop.
const ATTACHMENT_PART = `
  select substring(content from $5 for $6) as part
  from email_attachments
  where organization_id = $1 and mode = $2 and email_id = $3 and position = $4`;

/** Returns one row, or none for an unknown attachment; fewer than `length` bytes at the end. @param from the first byte, from 1 */
export function readAttachmentPart(
  { organizationId, mode, emailId }: EmailKey,
  position: number,
  { from, length }: { readonly from: number; readonly length: number },
): Statement<{ part: Buffer }> {
  return {
    name: 'read-attachment-part',
    text: ATTACHMENT_PART,
    values: [organizationId, mode, emailId, position, from, length],
  };
}
