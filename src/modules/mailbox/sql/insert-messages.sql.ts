// Keeps a batch of received messages.
// Writes: mailbox_messages (insert only). Locks: none beyond the new rows. Rows: those of one batch, often one.
// Not the ORM: the raw bytes of the whole batch travel as one binary parameter that the server cuts up, where an array
// of bytea would go as hexadecimal text of twice the size. Addresses hold no line ends, so a list of them is lines.
import type { Statement } from '../../../database/statement';
import type { NewMailboxMessage } from '../received-message';

const TEXT = `
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
    text: TEXT,
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
