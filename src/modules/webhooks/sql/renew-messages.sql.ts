// Makes messages for one endpoint; those that it has already begin anew, unless one is being sent.
// Writes: webhook_messages (primary key). Locks: the rows, in the order given, which is that of their ids. Rows: up to 500.
// Not the ORM: its upsert cannot leave rows as they are by their state.
import type { Statement } from '../../../database/statement';
import type { WebhookEndpoint } from '../webhook-endpoint.entity';
import type { WebhookMessage } from '../webhook-message.entity';

const TEXT = `
  insert into webhook_messages (
    organization_id, mode, endpoint_id, id, email_id, sequence, event_type, state, next_attempt_at, created_at
  )
  select $1, $2, $3, id, email_id, sequence, event_type, 'pending', $8, $8
  from unnest($4::uuid[], $5::uuid[], $6::int[], $7::text[]) as given (id, email_id, sequence, event_type)
  on conflict (organization_id, mode, endpoint_id, id) do update
  set state = 'pending', attempts = 0, next_attempt_at = excluded.next_attempt_at, claimed_until = null,
    delivered_at = null, created_at = excluded.created_at
  where webhook_messages.state <> 'sending'`;

export function renewMessages(
  { organizationId, mode, id }: Pick<WebhookEndpoint, 'organizationId' | 'mode' | 'id'>,
  messages: readonly Pick<WebhookMessage, 'id' | 'emailId' | 'sequence' | 'eventType'>[],
  now: Date,
): Statement<never> {
  return {
    name: 'renew-webhook-messages',
    text: TEXT,
    values: [
      ...[organizationId, mode, id],
      messages.map((message) => message.id),
      messages.map((message) => message.emailId),
      messages.map((message) => message.sequence),
      messages.map((message) => message.eventType),
      now,
    ],
  };
}
