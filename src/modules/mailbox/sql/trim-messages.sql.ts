// Deletes all but the newest $1 messages, and of those what goes beyond $2 bytes together.
// Writes: mailbox_messages (range of the primary key, in its order). Locks: the rows. Rows: those since the last run.
// Not the ORM: one statement instead of reading sizes first.
import type { Statement } from '../../../database/statement';

const TEXT = `
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
  return { name: 'trim-mailbox-messages', text: TEXT, values: [maxMessages, maxBytes] };
}
