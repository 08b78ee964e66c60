// Contents of erased emails: deleted with their attachments where there was no other recipient, else without the address.
// An attachment that holds the address is emptied: what else it says cannot be separated.
// Writes: email_contents, email_attachments (primary keys). Locks: the rows; the emails are locked. Rows: one batch of an
// erasure, an attachment row for up to ten of each.
// Not the ORM: up to 5 MiB of text for each, rewritten where it is.
import type { Statement } from '../../../../database/statement';
import { type ErasedSubject, withoutAddress } from './erased.sql';

const DELETE = `
  with deleted_attachments as (
    delete from email_attachments a where a.organization_id = $1 and a.mode = $2 and a.email_id = any($3::uuid[])
  )
  delete from email_contents c
  where c.organization_id = $1 and c.mode = $2 and c.email_id = any($3::uuid[])
  returning 1 as deleted`;

export function deleteContents(
  { organizationId, mode }: ErasedSubject,
  emailIds: readonly string[],
): Statement<{ deleted: 1 }> {
  return { name: 'delete-erased-contents', text: DELETE, values: [organizationId, mode, emailIds] };
}

const without = (field: string): string => `(
      select coalesce(jsonb_agg(m order by place), '[]')
      from jsonb_array_elements(c.addressees -> '${field}') with ordinality as listed (m, place)
      where lower(m ->> 'email') <> all ($4)
    )`;

const CLEAN = `
  update email_contents c
  set
    html = ${withoutAddress('c.html', '$5')},
    text = ${withoutAddress('c.text', '$5')},
    headers = ${withoutAddress('c.headers::text', '$5')}::jsonb,
    addressees = ${withoutAddress(
      `jsonb_build_object('to', ${without('to')}, 'cc', ${without('cc')}, 'replyTo', ${without('replyTo')})::text`,
      '$5',
    )}::jsonb
  where c.organization_id = $1 and c.mode = $2 and c.email_id = any($3::uuid[])`;

/** @param emailIds of emails with other recipients */
export function cleanContents(
  { organizationId, mode, keys, pattern }: ErasedSubject,
  emailIds: readonly string[],
): Statement<never> {
  return { name: 'clean-contents', text: CLEAN, values: [organizationId, mode, emailIds, keys, pattern] };
}

const CLEAN_ATTACHMENTS = `
  with examined as materialized (
    select a.email_id, a.position, encode(a.content, 'escape') ~ $4 as holds
    from email_attachments a
    where a.organization_id = $1 and a.mode = $2 and a.email_id = any($3::uuid[])
  )
  update email_attachments a
  set
    filename = ${withoutAddress('a.filename', '$4')},
    content_id = ${withoutAddress('a.content_id', '$4')},
    content = case when x.holds then '' else a.content end,
    size = case when x.holds then 0 else a.size end
  from examined x
  where a.organization_id = $1 and a.mode = $2 and a.email_id = x.email_id and a.position = x.position
    and (x.holds or concat_ws(' ', a.filename, a.content_id) ~ $4)`;

export function cleanAttachments(
  { organizationId, mode, pattern }: ErasedSubject,
  emailIds: readonly string[],
): Statement<never> {
  return {
    name: 'clean-attachments',
    text: CLEAN_ATTACHMENTS,
    values: [organizationId, mode, emailIds, pattern],
  };
}
