// Puts placeholders in the place of recipients, and takes their addresses out of what was answered about the others.
// Writes: email_recipients (primary key). Locks: none beyond those of the emails. Rows: one batch of an erasure.
// Not the ORM: a batch of keys, and the new address is made of the row's own.
import type { Statement } from '../../../../database/statement';
import { type ErasedSubject, placeholder, withoutAddress } from './erased.sql';

const TEXT = `
  update email_recipients r
  set
    address = case when r.position = given.position then ${placeholder('r.position')} else r.address end,
    last_response = case when r.position = given.position then null else ${withoutAddress('r.last_response', '$5')} end
  from unnest($3::uuid[], $4::smallint[]) as given (email_id, position)
  where r.organization_id = $1 and r.mode = $2 and r.email_id = given.email_id
    and (r.position = given.position or r.last_response ~ $5)`;

/** @param emails as for `eraseEmails` */
export function eraseRecipients(
  { organizationId, mode, pattern }: ErasedSubject,
  emails: readonly { emailId: string; position: number | null }[],
): Statement<never> {
  return {
    name: 'erase-recipients',
    text: TEXT,
    values: [
      organizationId,
      mode,
      emails.map((email) => email.emailId),
      emails.map((email) => email.position),
      pattern,
    ],
  };
}
