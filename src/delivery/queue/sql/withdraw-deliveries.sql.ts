import type { Statement } from '../../../database/statement';
import type { DeliveryKey, EmailKey } from '../../ports/delivery';

// Takes an email's deliveries out of the queue before their first attempt.
// Writes: deliveries (primary key). Locks: rows in primary-key order. Rows: the recipients of one email.
// Not the ORM: delete … returning.
const WITHDRAW_EMAIL = `
  delete from deliveries
  where organization_id = $1 and mode = $2 and email_id = $3 and state in ('waiting', 'ready', 'held') and attempt = 0
  returning position`;

export function withdrawDeliveries(email: EmailKey): Statement<{ position: number }> {
  return {
    name: 'withdraw-deliveries',
    text: WITHDRAW_EMAIL,
    values: [email.organizationId, email.mode, email.emailId],
  };
}

// Takes deliveries out of the queue, whatever attempts they have behind them; those that a worker has stay.
// Writes: deliveries (primary key). Locks: rows in primary-key order; a claim under way is waited for. Rows: up to some
// dozens of one erasure's batch.
// Not the ORM: the queue has no entity, and one statement tells apart what it has taken and what a worker has.
export interface WithdrawnDelivery {
  emailId: string;
  position: number;
  /** True: a worker has it, and it has not been touched. */
  isClaimed: boolean;
}

const WITHDRAW_RECIPIENTS = `
  with locked as materialized (
    select d.organization_id, d.mode, d.email_id, d.position, d.state = 'claimed' as is_claimed
    from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[]) as wanted (organization_id, mode, email_id, position)
    join deliveries d using (organization_id, mode, email_id, position)
    order by d.organization_id, d.mode, d.email_id, d.position
    for update of d
  ), removed as (
    delete from deliveries d
    using locked l
    where not l.is_claimed
      and d.organization_id = l.organization_id and d.mode = l.mode and d.email_id = l.email_id and d.position = l.position
  )
  select email_id as "emailId", position, is_claimed as "isClaimed" from locked`;

/** Returns those that were open. */
export function withdrawRecipients(keys: readonly DeliveryKey[]): Statement<WithdrawnDelivery> {
  return {
    name: 'withdraw-recipients',
    text: WITHDRAW_RECIPIENTS,
    values: [
      keys.map((key) => key.organizationId),
      keys.map((key) => key.mode),
      keys.map((key) => key.emailId),
      keys.map((key) => key.position),
    ],
  };
}

// Moves the first attempt of an email's deliveries, before it has begun. What an operator holds stays held.
// Writes: deliveries (primary key). Locks: the rows of one email; a claim under way is waited for, and then its row is left alone.
// Not the ORM: update … returning, and a state that depends on the one before.
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
