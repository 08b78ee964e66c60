// Reads a raw message, which is stored in email_attachments, in consecutive parts of 1 MiB.
// Reads: email_attachments (primary key). Locks: none. Rows: the parts of one message without their bytes, or one with them.
// Not the ORM: two small reads of one message; entities would add nothing.
import type { Statement } from '../../../../database/statements/statement';
import type { EmailKey } from '../../../../delivery/ports/delivery';

/** Name and type of these rows. Attachments of composed emails cannot have this type, since the API refuses it. */
export const RAW_PART = { filename: 'message.eml', contentType: 'message/rfc822' } as const;

const SIZES = `
  select position, size
  from email_attachments
  where organization_id = $1 and mode = $2 and email_id = $3
  order by position`;

/** Returns the parts in order, `size` in bytes; none for a deleted message, and sizes of 0 after an erasure. */
export function readRawSizes({
  organizationId,
  mode,
  emailId,
}: EmailKey): Statement<{ position: number; size: number }> {
  return { name: 'read-raw-sizes', text: SIZES, values: [organizationId, mode, emailId] };
}

const PART = `
  select content
  from email_attachments
  where organization_id = $1 and mode = $2 and email_id = $3 and position = $4`;

/** Returns one row, or none for an unknown part. @param position as in `readRawSizes` */
export function readRawPart(
  { organizationId, mode, emailId }: EmailKey,
  position: number,
): Statement<{ content: Buffer }> {
  return { name: 'read-raw-part', text: PART, values: [organizationId, mode, emailId, position] };
}
