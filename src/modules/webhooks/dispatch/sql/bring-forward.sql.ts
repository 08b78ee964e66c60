// Makes messages that wait because their endpoint was failing due at once, the oldest first; then notes that it no longer
// fails. What was not tried during the failure keeps its time, and so does what has been tried many times: something else
// is the matter with it.
// Writes: webhook_messages (index webhook_messages_due), webhook_endpoints (primary key). Locks: rows, skip locked. Rows: up
// to $7, 1. Not the ORM: SKIP LOCKED inside an update with a limit.
import type { Statement } from '../../../../database/statement';
import type { EndpointKey } from '../dispatched-message';

const FORWARD = `
  update webhook_messages m
  set next_attempt_at = least(m.created_at, $4)
  from (
    select organization_id, mode, endpoint_id, id
    from webhook_messages
    where state = 'pending' and organization_id = $1 and mode = $2 and endpoint_id = $3
      and next_attempt_at > $4 and last_attempt_at >= $5 and attempts < $6
    order by next_attempt_at
    limit $7
    for update skip locked
  ) waiting
  where m.organization_id = waiting.organization_id and m.mode = waiting.mode
    and m.endpoint_id = waiting.endpoint_id and m.id = waiting.id
  returning m.id`;

export interface ForwardInput {
  readonly endpoint: EndpointKey;
  readonly now: Date;
  readonly triedSince: Date;
  readonly triedLessThan: number;
  readonly limit: number;
}

export function bringForward(input: ForwardInput): Statement<{ id: string }> {
  const { organizationId, mode, endpointId } = input.endpoint;
  const { now, triedSince, triedLessThan, limit } = input;
  const values = [organizationId, mode, endpointId, now, triedSince, triedLessThan, limit];
  return { name: 'bring-webhooks-forward', text: FORWARD, values };
}

const RECOVER = `
  update webhook_endpoints
  set failing_since = null
  where organization_id = $1 and mode = $2 and id = $3 and failing_since = $4`;

export function endFailure({ organizationId, mode, endpointId }: EndpointKey, failingSince: Date): Statement<never> {
  return { name: 'end-webhook-failure', text: RECOVER, values: [organizationId, mode, endpointId, failingSince] };
}
