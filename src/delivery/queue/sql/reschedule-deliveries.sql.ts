// Moves the first attempt of an email's deliveries, before it has begun. What an operator holds stays held.
// Writes: deliveries (primary key). Locks: the rows of one email; a claim under way is waited for, and then its row is left alone.
// Not the ORM: update … returning, and a state that depends on the one before.
import type { Statement } from '../../../database/statement';
import type { EmailKey } from '../../ports/delivery';

const RESCHEDULE = `
  update deliveries
  set due_at = $4, first_due_at = $4, state = case state when 'held' then 'held' else 'waiting' end
  where organization_id = $1 and mode = $2 and email_id = $3 and state in ('waiting', 'ready', 'held') and attempt = 0
  returning position`;

export function rescheduleDeliveries(email: EmailKey, dueAt: Date): Statement<{ position: number }> {
  return {
    name: 'reschedule-deliveries',
    text: RESCHEDULE,
    values: [email.organizationId, email.mode, email.emailId, dueAt],
  };
}
