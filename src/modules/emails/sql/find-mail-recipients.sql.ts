// Whom deliveries went to, from whom and when.
// Reads: emails, email_recipients (primary keys). Locks: none. Rows: one batch of hits on links, up to 500.
// Not the ORM: keys of four columns by the batch, and both tables, in one round trip.
import type { Statement } from '../../../database/statement';
import type { DeliveryKey } from '../../../delivery/ports/delivery';
import type { MailRecipient } from '../mail-recipient';
import { keyColumns } from './lock-emails.sql';

const TEXT = `
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
  return { name: 'find-mail-recipients', text: TEXT, values: [...keyColumns(keys), keys.map((key) => key.position)] };
}
