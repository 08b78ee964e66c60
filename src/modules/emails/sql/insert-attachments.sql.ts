// Writes the attachments of accepted emails.
// Writes: email_attachments (insert only). Locks: none beyond the new rows. Rows: those of one batch; most have none.
// Not the ORM: bytes go as binary parameters, part of the accept transaction.
import type { Statement } from '../../../database/statement';
import type { AcceptedEmail } from '../accept/accepted-email';

const TEXT = `
  insert into email_attachments (organization_id, mode, email_id, position, filename, content_type, content_id, size, content)
  select organization_id, mode, email_id, position, filename, content_type, content_id, octet_length(content), content
  from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::text[], $6::text[], $7::text[], $8::bytea[])
    as a (organization_id, mode, email_id, position, filename, content_type, content_id, content)`;

export function insertAttachments(emails: readonly AcceptedEmail[]): Statement<never> {
  const rows = emails.flatMap(({ id, command }) =>
    command.request.attachments.map((attachment, position) => ({ id, command, attachment, position })),
  );
  return {
    name: 'insert-attachments',
    text: TEXT,
    values: [
      rows.map((row) => row.command.organizationId),
      rows.map((row) => row.command.mode),
      rows.map((row) => row.id),
      rows.map((row) => row.position),
      rows.map((row) => row.attachment.filename),
      rows.map((row) => row.attachment.contentType),
      rows.map((row) => row.attachment.contentId ?? null),
      rows.map((row) => row.attachment.content),
    ],
  };
}
