// What the queue still holds of some emails: for the detail view.
// Reads: deliveries (primary key). Locks: none. Rows: the open recipients of one email.
// Not the ORM: the queue has no entity; it is read and written by statements only.
import type { Statement } from '../../../database/statement';
import type { EmailKey } from '../../ports/delivery';

export interface OpenDelivery {
  position: number;
  state: 'waiting' | 'ready' | 'claimed';
  dueAt: Date;
}

const TEXT = `
  select position, state, due_at as "dueAt"
  from deliveries
  where organization_id = $1 and mode = $2 and email_id = $3`;

export function findOpenDeliveries(email: EmailKey): Statement<OpenDelivery> {
  return { name: 'find-open-deliveries', text: TEXT, values: [email.organizationId, email.mode, email.emailId] };
}
