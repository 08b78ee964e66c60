// All recipients of the locked emails. A statement of its own: its snapshot is taken after the locks were granted.
// Reads: email_recipients (primary key). Locks: none (the email's lock covers them). Rows: the recipients of one batch.
// Not the ORM: a batch of keys in one round trip.
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { Statement } from '../../../database/statement';
import type { RecipientState } from '../outcomes/email-state';
import { keyColumns } from './lock-emails.sql';

export type LoadedRecipient = RecipientState & { emailId: string };

const TEXT = `
  select
    r.email_id as "emailId",
    r.position,
    r.address,
    r.seen,
    r.status,
    r.attempts,
    r.last_response as "lastResponse"
  from unnest($1::uuid[], $2::text[], $3::uuid[]) as wanted (organization_id, mode, email_id)
  join email_recipients r using (organization_id, mode, email_id)`;

export function loadRecipients(emails: readonly EmailKey[]): Statement<LoadedRecipient> {
  return { name: 'load-recipients', text: TEXT, values: keyColumns(emails) };
}
