// Writes one attachment of an accepted email.
// Writes: email_attachments (insert only). Locks: none beyond the new row. Rows: one.
// Not the ORM, and not many at once: the bytes of a single parameter travel as they are, those of an array as hexadecimal
// text of twice the length.
import type { Statement } from '../../../database/statement';
import type { AcceptedEmail } from '../accept/accepted-email';

const TEXT = `
  insert into email_attachments (organization_id, mode, email_id, position, filename, content_type, content_id, size, content)
  values ($1, $2, $3, $4, $5, $6, $7, octet_length($8::bytea), $8)`;

/** One statement per attachment. */
export function insertAttachments(emails: readonly AcceptedEmail[]): Statement<never>[] {
  return emails.flatMap(({ id, command: { organizationId, mode, request } }) =>
    request.attachments.map(({ filename, contentType, contentId = null, content }, position) => ({
      name: 'insert-attachment',
      text: TEXT,
      values: [organizationId, mode, id, position, filename, contentType, contentId, content],
    })),
  );
}
