// Takes an email's deliveries out of the queue before their first attempt.
// Writes: deliveries (primary key). Locks: rows in primary-key order. Rows: the recipients of one email.
// Not the ORM: delete … returning.
import type { Statement } from '../../../database/statement';
import type { EmailKey } from '../../ports/delivery';

const TEXT = `
  delete from deliveries
  where organization_id = $1 and mode = $2 and email_id = $3 and state in ('waiting', 'ready') and attempt = 0
  returning position`;

export function withdrawDeliveries(email: EmailKey): Statement<{ position: number }> {
  return { name: 'withdraw-deliveries', text: TEXT, values: [email.organizationId, email.mode, email.emailId] };
}
