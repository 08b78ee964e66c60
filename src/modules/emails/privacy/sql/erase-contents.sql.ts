// Deletes contents of emails without other recipients, with their attachments.
// Writes: email_contents, email_attachments (primary keys). Locks: the rows; the emails are locked. Rows: one batch of an
// erasure, an attachment row for up to ten of each.
// Not the ORM: two tables by a batch of keys.
import type { Statement } from '../../../../database/statement';
import type { Addressees } from '../../email.entity';
import type { ErasedSubject } from './erased.sql';

const DELETE = `
  with deleted_attachments as (
    delete from email_attachments a where a.organization_id = $1 and a.mode = $2 and a.email_id = any($3::uuid[])
  )
  delete from email_contents c
  where c.organization_id = $1 and c.mode = $2 and c.email_id = any($3::uuid[])
  returning 1 as deleted`;

/** Returns one row per deleted content. */
export function deleteContents(
  { organizationId, mode }: ErasedSubject,
  emailIds: readonly string[],
): Statement<{ deleted: 1 }> {
  return { name: 'delete-erased-contents', text: DELETE, values: [organizationId, mode, emailIds] };
}

// Reads the content of one email, and the names of its attachments.
// Reads: email_contents, email_attachments (primary keys). Locks: none; the email is locked. Rows: one, of up to 6 MiB.
// Not the ORM: returns a record that can be written back.

export interface ErasableContent {
  html: string | null;
  text: string | null;
  headers: Record<string, string> | null;
  addressees: Addressees;
  /** Names of the attachments, in order. */
  readonly attachments: readonly AttachmentName[];
}

export interface AttachmentName {
  readonly position: number;
  readonly filename: string;
  readonly contentType: string;
  readonly contentId: string | null;
}

const READ = `
  select c.html, c.text, c.headers, c.addressees, (
    select coalesce(jsonb_agg(jsonb_build_object(
      'position', a.position, 'filename', a.filename, 'contentType', a.content_type, 'contentId', a.content_id
    ) order by a.position), '[]')
    from email_attachments a
    where a.organization_id = $1 and a.mode = $2 and a.email_id = $3
  ) as attachments
  from email_contents c
  where c.organization_id = $1 and c.mode = $2 and c.email_id = $3`;

/** Returns no row when the content has been deleted already. */
export function readContent({ organizationId, mode }: ErasedSubject, emailId: string): Statement<ErasableContent> {
  return { name: 'read-erasable-content', text: READ, values: [organizationId, mode, emailId] };
}

// Writes the content back.
// Writes: email_contents, email_attachments (primary keys). Locks: the rows; the email is locked. Rows: one, and its attachments.
// Not the ORM: one statement for both tables.

const WRITE = `
  with renamed as (
    update email_attachments a
    set filename = n.filename, content_type = n.content_type, content_id = n.content_id
    from unnest($8::smallint[], $9::text[], $10::text[], $11::text[]) as n (position, filename, content_type, content_id)
    where a.organization_id = $1 and a.mode = $2 and a.email_id = $3 and a.position = n.position
  )
  update email_contents c
  set html = $4, text = $5, headers = $6::text::jsonb, addressees = $7::text::jsonb
  where c.organization_id = $1 and c.mode = $2 and c.email_id = $3`;

/** Replaces bodies and headers, and the names of the attachments given; their bytes stay. */
export function writeContent(
  { organizationId, mode }: ErasedSubject,
  emailId: string,
  { html, text, headers, addressees, attachments }: ErasableContent,
): Statement<never> {
  return {
    name: 'write-erased-content',
    text: WRITE,
    values: [
      ...[organizationId, mode, emailId, html, text],
      headers && JSON.stringify(headers),
      JSON.stringify(addressees),
      attachments.map((attachment) => attachment.position),
      attachments.map((attachment) => attachment.filename),
      attachments.map((attachment) => attachment.contentType),
      attachments.map((attachment) => attachment.contentId),
    ],
  };
}

// Finds the next attachment of an email that is not empty, without its bytes.
// Reads: email_attachments (primary key). Locks: none. Rows: one.
// Not the ORM: like the other statements of this file.

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

/** @param after position of the attachment before, -1 for the first */
export function nextAttachment(
  { organizationId, mode }: ErasedSubject,
  emailId: string,
  after: number,
): Statement<StoredAttachment> {
  return { name: 'next-attachment', text: NEXT_ATTACHMENT, values: [organizationId, mode, emailId, after] };
}

// Reads a part of an attachment's bytes: as a whole, the driver would convert 50 MB of hexadecimal text for 25 MiB at once.
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

// Empties an attachment that contains the address: the rest of its content cannot be separated.
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
// Reads: email_attachments (primary key). Locks: the rows, in order, until its parts have been written. Rows: one.
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

/** Returns one row. */
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
