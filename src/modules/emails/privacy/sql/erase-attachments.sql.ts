import type { Statement } from '../../../../database/statements/statement';
import type { ErasedSubject } from './erased.sql';

// Finds the next attachment of an email that is not empty, and returns it without its bytes.
// Reads: email_attachments (primary key). Locks: none. Rows: one.
// Not the ORM: an order and a limit on a key of four columns.
export interface StoredAttachment {
  readonly position: number;
  readonly contentType: string;
  readonly size: number;
}

const NEXT_ATTACHMENT = `
  select position, content_type as "contentType", size
  from email_attachments
  where organization_id = $1 and mode = $2 and email_id = $3 and position > $4 and size > 0
  order by position
  limit 1`;

/** Returns one row or none. @param after position of the previous attachment, -1 for the first */
export function nextAttachment(
  { organizationId, mode }: ErasedSubject,
  emailId: string,
  after: number,
): Statement<StoredAttachment> {
  return { name: 'next-attachment', text: NEXT_ATTACHMENT, values: [organizationId, mode, emailId, after] };
}

// Reads a part of an attachment's bytes: for a whole one of 25 MiB, the driver would convert 50 MB of hexadecimal text at once.
// Reads: email_attachments (primary key). Locks: none. Rows: one.
// Not the ORM: a part of a value.
const READ_PART = `
  select substring(content from $5 for $6) as part
  from email_attachments
  where organization_id = $1 and mode = $2 and email_id = $3 and position = $4`;

/** @param from the first byte, from 1 */
export function readAttachmentPart(
  { organizationId, mode }: ErasedSubject,
  { emailId, position }: { readonly emailId: string; readonly position: number },
  from: number,
  length: number,
): Statement<{ part: Buffer }> {
  const values = [organizationId, mode, emailId, position, from, length];
  return { name: 'read-attachment-part', text: READ_PART, values };
}

// Empties an attachment that contains the address: the address alone cannot be removed from the file.
// Writes: email_attachments (primary key). Locks: the row. Rows: one.
// Not the ORM: a key of four columns.
const EMPTY = `
  update email_attachments
  set content = '', size = 0
  where organization_id = $1 and mode = $2 and email_id = $3 and position = $4`;

/** Keeps the row with a size of 0, so that positions and counts stay. */
export function emptyAttachment(
  { organizationId, mode }: ErasedSubject,
  { emailId, position }: { readonly emailId: string; readonly position: number },
): Statement<never> {
  return { name: 'empty-attachment', text: EMPTY, values: [organizationId, mode, emailId, position] };
}

// Counts the parts of a raw message, and locks them.
// Reads: email_attachments (primary key). Locks: the rows, in order, until the end of the transaction. Rows: one.
// Not the ORM: it locks.
const COUNT_PARTS = `
  select count(*)::int as parts
  from (
    select 1
    from email_attachments
    where organization_id = $1 and mode = $2 and email_id = $3
    order by position
    for update
  ) locked`;

/** Returns one row; 0 parts when the message has been deleted. */
export function countRawParts(
  { organizationId, mode }: ErasedSubject,
  emailId: string,
): Statement<{ readonly parts: number }> {
  return { name: 'count-raw-parts', text: COUNT_PARTS, values: [organizationId, mode, emailId] };
}

// Writes a part of a raw message.
// Writes: email_attachments (primary key). Locks: the row. Rows: one.
// Not the ORM: a key of four columns.
const WRITE_PART = `
  update email_attachments
  set content = $5, size = octet_length($5::bytea)
  where organization_id = $1 and mode = $2 and email_id = $3 and position = $4`;

/** @param part may be empty */
export function writeRawPart(
  { organizationId, mode }: ErasedSubject,
  { emailId, position }: { readonly emailId: string; readonly position: number },
  part: Buffer,
): Statement<never> {
  return { name: 'write-raw-part', text: WRITE_PART, values: [organizationId, mode, emailId, position, part] };
}
