// Deletes contents of emails without other recipients, with their attachments.
// Writes: email_contents, email_attachments (primary keys). Locks: the rows; the emails are locked. Rows: one batch of an erasure,
// each email with up to 10 attachments or 25 parts of a raw message.
// Not the ORM: two tables by a batch of keys.
import type { Statement } from '../../../../database/statements/statement';
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
// Reads: email_contents, email_attachments (primary keys). Locks: none; the email is locked. Rows: one; html takes up to 5 MiB, text 1 MiB.
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

/** Replaces bodies, headers and addressees, and the names of the given attachments; their bytes stay. */
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
