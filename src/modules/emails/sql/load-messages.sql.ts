// All that is needed to compose a batch of claimed emails; of attachments only what they weigh.
// Reads: emails, email_contents, email_attachments (primary keys). Locks: none. Rows: the emails of one claim.
// Not the ORM: a batch of keys joined across two partitioned tables in one round trip.
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { Statement } from '../../../database/statement';
import type { Addressees } from '../email-content.entity';
import { keyColumns } from './lock-emails.sql';

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

const TEXT = `
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
  return { name: 'load-messages', text: TEXT, values: keyColumns(emails) };
}
