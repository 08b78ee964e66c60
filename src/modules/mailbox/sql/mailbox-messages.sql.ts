// What is written to the mailbox: received messages go in, old ones and those of erased persons go out.
import type { Statement } from '../../../database/statement';
import type { NewMailboxMessage } from '../mailbox-message.entity';

export interface MailboxPage {
  readonly after: string;
  readonly lastId: string;
}

export interface DeletedCopies {
  deleted: number;
  /** The last message of the page; null when there was none. */
  lastId: string | null;
}

// Keeps a batch of received messages.
// Writes: mailbox_messages (insert only). Locks: none beyond the new rows. Rows: those of one batch, often one.
// Not the ORM: the raw bytes of the whole batch travel as one binary parameter that the server cuts up, where an array
// of bytea would go as hexadecimal text of twice the size. Addresses hold no line ends, so a list of them is lines.
const INSERT_MESSAGES = `
  insert into mailbox_messages (id, received_at, return_path, recipients, sender, subject, size, raw)
  select
    id, received_at, return_path, string_to_array(recipients, e'\\n'), sender, subject, size,
    substring($1::bytea from begins for size)
  from unnest($2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int[], $9::int[])
    as m (id, received_at, return_path, recipients, sender, subject, begins, size)`;

export function insertMessages(messages: readonly NewMailboxMessage[]): Statement<never> {
  let begins = 1;
  const starts = messages.map(({ raw }) => {
    const start = begins;
    begins += raw.length;
    return start;
  });
  return {
    name: 'insert-mailbox-messages',
    text: INSERT_MESSAGES,
    values: [
      Buffer.concat(messages.map((message) => message.raw)),
      messages.map((message) => message.id),
      messages.map((message) => message.receivedAt),
      messages.map((message) => message.returnPath),
      messages.map((message) => message.recipients.join('\n')),
      messages.map((message) => message.sender),
      messages.map((message) => message.subject),
      starts,
      messages.map((message) => message.raw.length),
    ],
  };
}

// Deletes all but the newest $1 messages, and of those what goes beyond $2 bytes together.
// Writes: mailbox_messages (range of the primary key, in its order). Locks: the rows. Rows: those since the last run.
// Not the ORM: one statement instead of reading sizes first.
const TRIM_MESSAGES = `
  delete from mailbox_messages
  where id <= (
    select id
    from (
      select id, row_number() over newest as place, sum(size) over newest as bytes
      from mailbox_messages
      window newest as (order by id desc)
    ) ranked
    where place > $1 or bytes > $2
    order by id desc
    limit 1
  )`;

export function trimMessages(maxMessages: number, maxBytes: number): Statement<never> {
  return { name: 'trim-mailbox-messages', text: TRIM_MESSAGES, values: [maxMessages, maxBytes] };
}

// Deletes, of one page of messages, those to an address and those that show it.
// Writes: mailbox_messages (range of the primary key). Locks: the rows. Rows: looks at up to $5 messages, some hundred kB each.
// Without organization: the mailbox is that of the whole installation.
// Not the ORM: the messages are looked through where they are.
const DELETE_COPIES = `
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

/** @param keys forms of the address in lower case @param pattern of the address within a text */
export function deleteCopies(
  { after, lastId }: MailboxPage,
  { keys, pattern }: { readonly keys: readonly string[]; readonly pattern: string },
  limit: number,
): Statement<DeletedCopies> {
  return { name: 'delete-mailbox-copies', text: DELETE_COPIES, values: [after, lastId, keys, pattern, limit] };
}
