// All that is needed to compose a batch of claimed emails; of attachments only what they weigh. Bodies come along as long as
// they are small, have no attachments and fit into $4 bytes together; octet_length reads no more than a value's header.
// Reads: emails, email_contents, email_attachments (primary keys). Locks: none. Rows: the emails of one claim.
// Not the ORM: a batch of keys joined across two partitioned tables in one round trip.
import type { Statement } from '../../../database/statement';
import type { DeliveryKey, EmailKey } from '../../../delivery/ports/delivery';
import type { Addressees } from '../email-content.entity';
import { keyColumns } from '../outcomes/sql/lock-emails.sql';

export interface LoadedMessage extends EmailKey {
  domainId: string;
  fromEmail: string;
  fromName: string | null;
  subject: string;
  date: Date;
  trackOpens: boolean;
  trackClicks: boolean;
  html: string | null;
  text: string | null;
  bodyBytes: number;
  isBodyLoaded: boolean;
  headers: Record<string, string> | null;
  addressees: Addressees;
  attachmentBytes: number;
}

/** As many as a claim has of these fit into a few megabytes; larger ones are rare and wait for their own look-up. */
const SMALL_BODY_BYTES = 128 * 1024;

const MESSAGES = `
  with found as (
    select
      e.organization_id, e.mode, e.id, e.domain_id, e.from_email, e.from_name, e.subject,
      coalesce(e.scheduled_for, e.created_at) as date, e.track_opens, e.track_clicks,
      c.html, c.text, c.headers, c.addressees, c.attachment_count, size.body_bytes, size.is_small,
      sum(size.body_bytes) filter (where size.is_small) over (order by wanted.ordinality) as small_bytes
    from unnest($1::uuid[], $2::text[], $3::uuid[]) with ordinality as wanted (organization_id, mode, id, ordinality)
    join emails e using (organization_id, mode, id)
    join email_contents c on c.organization_id = e.organization_id and c.mode = e.mode and c.email_id = e.id
    cross join lateral (
      select bytes as body_bytes, bytes <= ${SMALL_BODY_BYTES} and c.attachment_count = 0 as is_small
      from (select coalesce(octet_length(c.html), 0) + coalesce(octet_length(c.text), 0) as bytes) measured
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
    f.date,
    f.track_opens as "trackOpens",
    f.track_clicks as "trackClicks",
    f.body_bytes as "bodyBytes",
    f.is_small and f.small_bytes <= $4::int as "isBodyLoaded",
    case when f.is_small and f.small_bytes <= $4::int then f.html end as html,
    case when f.is_small and f.small_bytes <= $4::int then f.text end as text,
    f.headers,
    f.addressees,
    case when f.attachment_count = 0 then 0 else (
      select greatest(sum(a.size), 1)::int
      from email_attachments a
      where a.organization_id = f.organization_id and a.mode = f.mode and a.email_id = f.id
    ) end as "attachmentBytes"
  from found f`;

export function loadMessages(emails: readonly EmailKey[], maxBodyBytes: number): Statement<LoadedMessage> {
  return { name: 'load-messages', text: MESSAGES, values: [...keyColumns(emails), Math.floor(maxBodyBytes)] };
}

// The recipients of deliveries, with the sender and the time.
// Reads: emails, email_recipients (primary keys). Locks: none. Rows: one batch of hits on links, up to 500.
// Not the ORM: keys of four columns by the batch, and both tables, in one round trip.

/** The recipient of a delivery, and the sender. */
export interface MailRecipient extends DeliveryKey {
  readonly domainId: string;
  readonly fromEmail: string;
  readonly address: string;
  /** The set of lasting outcomes (`hasSeen`). */
  readonly seen: number;
  /** When the email was first handed to a next hop, for whichever recipient; null before that. */
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
  from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[]) as wanted (organization_id, mode, email_id, position)
  join email_recipients r using (organization_id, mode, email_id, position)
  join emails e on e.organization_id = r.organization_id and e.mode = r.mode and e.id = r.email_id`;

export function findMailRecipients(keys: readonly DeliveryKey[]): Statement<MailRecipient> {
  return {
    name: 'find-mail-recipients',
    text: RECIPIENTS,
    values: [...keyColumns(keys), keys.map((key) => key.position)],
  };
}
