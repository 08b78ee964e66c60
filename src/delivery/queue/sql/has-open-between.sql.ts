// Whether anything is still to be delivered of emails in a span of ids, of every organization.
// Reads: deliveries (whole: no index begins with the email). Locks: none. Rows: one.
// Not the ORM: the queue has no entity. Asked when a month of emails is about to be removed.
import type { Statement } from '../../../database/statement';

const TEXT = 'select exists (select from deliveries where email_id >= $1 and email_id < $2) as "isOpen"';

export function hasOpenBetween(fromId: string, toId: string): Statement<{ isOpen: boolean }> {
  return { name: 'has-open-between', text: TEXT, values: [fromId, toId] };
}
