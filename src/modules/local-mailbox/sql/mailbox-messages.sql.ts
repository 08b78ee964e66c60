// Writes to the mailbox: received messages are inserted, old ones and those of erased persons are deleted.
import type { Statement } from '../../../database/statements/statement';
import type { NewMailboxMessage } from '../mailbox-message.entity';

export interface CopiesPage {
  readonly after: string;
  readonly lastId: string;
}

/** A message that may have to be deleted, without its bytes. */
export interface KeptCopy {
  readonly id: string;
  readonly recipients: readonly string[];
  readonly size: number;
}

// Inserts a batch of received messages.
// Writes: mailbox_messages (insert only). Locks: none beyond the new rows. Rows: those of one batch, often one.
// Not the ORM: the raw bytes of the whole batch are one binary parameter that the server splits, where an array
// of bytea would be sent as hexadecimal text of twice the size. Addresses contain no line ends, so a list of them is sent as lines.
const INSERT_MESSAGES = `
  insert into mailbox_messages (id, received_at, return_path, recipients, sender, subject, size, raw, organization_id)
  select
    id, received_at, return_path, string_to_array(recipients, e'\\n'), sender, subject, size,
    substring($1::bytea from begins for size), organization_id
  from unnest(
    $2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int[], $9::int[], $10::uuid[]
  ) as m (id, received_at, return_path, recipients, sender, subject, begins, size, organization_id)`;

/** @param messages with ids of this process; a batch of any size */
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
      joined(messages.map((message) => message.raw)),
      messages.map((message) => message.id),
      messages.map((message) => message.receivedAt),
      messages.map((message) => message.returnPath),
      messages.map((message) => message.recipients.join('\n')),
      messages.map((message) => message.sender),
      messages.map((message) => message.subject),
      starts,
      messages.map((message) => message.raw.length),
      messages.map((message) => message.organizationId),
    ],
  };
}

/** Avoids a copy for a single message: the driver makes another one. */
function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

// Deletes all but the newest $1 messages, and of those the oldest ones beyond $2 bytes in total.
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

/** @param maxBytes of the raw messages that stay */
export function trimMessages(maxMessages: number, maxBytes: number): Statement<never> {
  return { name: 'trim-mailbox-messages', text: TRIM_MESSAGES, values: [maxMessages, maxBytes] };
}

// Finds the next messages of an organization, and of no organization: the mailbox accepts mail from any program on this machine.
// Reads: mailbox_messages (range of the primary key, without the bytes). Locks: none. Rows: up to $4.
// Not the ORM: as the statement below.
const FIND_COPIES = `
  select id, recipients, size
  from mailbox_messages
  where id > $2 and id <= $3 and (organization_id = $1 or organization_id is null)
  order by id
  limit $4`;

/** In the order of ids, after `page.after`. @param limit rows at most */
export function findCopies(organizationId: string, { after, lastId }: CopiesPage, limit: number): Statement<KeptCopy> {
  return { name: 'find-mailbox-copies', text: FIND_COPIES, values: [organizationId, after, lastId, limit] };
}

// Reads a part of a message's bytes; the column is stored uncompressed. As a whole the driver would convert twice as
// much text in one turn of the event loop.
// Reads: mailbox_messages (primary key). Locks: none. Rows: one.
// Not the ORM: a part of a value.
const READ_PART = 'select substring(raw from $2 for $3) as part from mailbox_messages where id = $1';

/** @param from the first byte, from 1 */
export function readCopyPart(id: string, from: number, length: number): Statement<{ part: Buffer }> {
  return { name: 'read-mailbox-part', text: READ_PART, values: [id, from, length] };
}

// Deletes messages.
// Writes: mailbox_messages (primary key). Locks: the rows. Rows: those of one page.
// Not the ORM: delete … returning.
const DELETE_COPIES = 'delete from mailbox_messages where id = any($1::uuid[]) returning 1 as deleted';

/** Returns one row per deleted message. */
export function deleteCopies(ids: readonly string[]): Statement<{ deleted: 1 }> {
  return { name: 'delete-mailbox-copies', text: DELETE_COPIES, values: [ids] };
}
