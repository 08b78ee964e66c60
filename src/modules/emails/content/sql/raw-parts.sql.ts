// A raw message lies in email_attachments, in parts of 1 MiB one behind the other.
// Reads: email_attachments (primary key). Locks: none. Rows: the parts of one message without their bytes, or one with them.
// Not the ORM: the reader of a message has no other use for its rows.
import type { Statement } from '../../../../database/statement';
import type { EmailKey } from '../../../../delivery/ports/delivery';

/** What its rows are called. No file of a composed email is of this type: the API takes none. */
export const RAW_PART = { filename: 'message.eml', contentType: 'message/rfc822' } as const;

const SIZES = `
  select position, size
  from email_attachments
  where organization_id = $1 and mode = $2 and email_id = $3
  order by position`;

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

export function readRawPart(
  { organizationId, mode, emailId }: EmailKey,
  position: number,
): Statement<{ content: Buffer }> {
  return { name: 'read-raw-part', text: PART, values: [organizationId, mode, emailId, position] };
}
