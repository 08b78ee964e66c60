// All that is needed to compose a batch of claimed emails; of attachments only what they weigh.
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
  headers: Record<string, string> | null;
  addressees: Addressees;
  attachmentBytes: number;
}

const MESSAGES = `
  select
    e.organization_id as "organizationId",
    e.mode,
    e.id as "emailId",
    e.domain_id as "domainId",
    e.from_email as "fromEmail",
    e.from_name as "fromName",
    e.subject,
    coalesce(e.scheduled_for, e.created_at) as date,
    e.track_opens as "trackOpens",
    e.track_clicks as "trackClicks",
    c.html,
    c.text,
    c.headers,
    c.addressees,
    case when c.attachment_count = 0 then 0 else (
      select greatest(sum(a.size), 1)::int
      from email_attachments a
      where a.organization_id = e.organization_id and a.mode = e.mode and a.email_id = e.id
    ) end as "attachmentBytes"
  from unnest($1::uuid[], $2::text[], $3::uuid[]) as wanted (organization_id, mode, id)
  join emails e using (organization_id, mode, id)
  join email_contents c on c.organization_id = e.organization_id and c.mode = e.mode and c.email_id = e.id`;

export function loadMessages(emails: readonly EmailKey[]): Statement<LoadedMessage> {
  return { name: 'load-messages', text: MESSAGES, values: keyColumns(emails) };
}

// The recipients of deliveries, with the sender and the time.
// Reads: emails, email_recipients (primary keys). Locks: none. Rows: one batch of hits on links, up to 500.
// Not the ORM: keys of four columns by the batch, and both tables, in one round trip.

/** The recipient of a delivery, and the sender. */
export interface MailRecipient extends DeliveryKey {
  readonly domainId: string;
  readonly fromEmail: string;
  readonly address: string;
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
