// Deletes, of one page of messages, those to an address and those that show it.
// Writes: mailbox_messages (range of the primary key). Locks: the rows. Rows: looks at up to $5 messages, some hundred kB each.
// Without organization: the mailbox is that of the whole installation.
// Not the ORM: the messages are looked through where they are.
import type { Statement } from '../../../database/statement';

export interface DeletedCopies {
  deleted: number;
  /** The last message of the page; null when there was none. */
  lastId: string | null;
}

const TEXT = `
  with page as materialized (
    select id, lower(array_to_string(recipients, ' ')) as recipients, encode(raw, 'escape') as raw
    from mailbox_messages
    where id > $1 and id <= $2
    order by id
    limit $5
  ), deleted as (
    delete from mailbox_messages m
    using page p
    where m.id = p.id and (string_to_array(p.recipients, ' ') && $3::text[] or p.raw ~ $4)
    returning 1
  )
  select (select count(*) from deleted)::int as deleted, (select id from page order by id desc limit 1) as "lastId"`;

export interface MailboxPage {
  readonly after: string;
  readonly lastId: string;
}

/** @param keys forms of the address in lower case @param pattern of the address within a text */
export function deleteCopies(
  { after, lastId }: MailboxPage,
  { keys, pattern }: { readonly keys: readonly string[]; readonly pattern: string },
  limit: number,
): Statement<DeletedCopies> {
  return { name: 'delete-mailbox-copies', text: TEXT, values: [after, lastId, keys, pattern, limit] };
}
