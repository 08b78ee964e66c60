// Effects of attempts on their endpoints.
import type { Statement } from '../../../../database/statements/statement';
import type { DisabledReason } from '../webhook.entity';
import type { EndpointKey, EndpointResult } from '../webhook-queue';

// Records how endpoints respond and disables those that are gone or have done nothing but fail for too long. Only what changes
// is written: a success counts once every few seconds, and a failure after a failure is no news. That an endpoint fails
// stays recorded after a success until its messages have been brought forward (see bring-forward). What an attempt to an earlier URL
// came to says nothing about the present one: the 410 of a receiver that has moved would end its successor.
// Writes: webhook_endpoints (primary key). Locks: the rows in the order of their keys. Rows: the endpoints of one batch.
// Not the ORM: the new values depend on the old ones, for many rows at once.
const RECORD = `
  with before as materialized (
    select e.organization_id, e.mode, e.id, t.result, e.failing_since is not null as was_failing,
      case
        when not e.enabled then null
        when t.result = 'gone' then 'gone'
        when t.result = 'failed' and e.failing_since <= $6 then 'failing'
      end as end_reason,
      t.result = 'succeeded' and (e.last_success_at is null or e.last_success_at <= $7) as is_news
    from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $8::text[]) as t (organization_id, mode, id, result, url)
    join webhook_endpoints e using (organization_id, mode, id, url)
    order by e.organization_id, e.mode, e.id
    for update of e
  )
  update webhook_endpoints e
  set
    last_success_at = case when b.result = 'succeeded' then $5 else e.last_success_at end,
    failing_since = case when b.result = 'succeeded' then e.failing_since else coalesce(e.failing_since, $5) end,
    enabled = e.enabled and b.end_reason is null,
    disabled_reason = coalesce(b.end_reason, e.disabled_reason),
    disabled_at = case when b.end_reason is null then e.disabled_at else $5 end,
    updated_at = case when b.end_reason is null then e.updated_at else $5 end
  from before b
  where e.organization_id = b.organization_id and e.mode = b.mode and e.id = b.id
    and (b.end_reason is not null or b.is_news or b.was_failing = (b.result = 'succeeded'))
  returning e.organization_id as "organizationId", e.mode, e.id as "endpointId", b.end_reason as "endReason",
    b.result = 'succeeded' and b.was_failing as "isRecovered", e.failing_since as "failingSince"`;

export interface EndpointChange extends EndpointKey {
  /** Set when it has been disabled by this. */
  readonly endReason: DisabledReason | null;
  /** It responded with success after failures. */
  readonly isRecovered: boolean;
  readonly failingSince: Date | null;
}

/** What attempts to an endpoint came to, at the URL that they went to. */
export type AddressResult = EndpointKey & { readonly url: string; readonly result: EndpointResult };

export interface HealthInput {
  /** One for each endpoint and URL. */
  readonly results: readonly AddressResult[];
  readonly now: Date;
  /** An endpoint that has failed since then or longer is disabled. */
  readonly failingBefore: Date;
  /** A success after one since then is no news. */
  readonly succeededBefore: Date;
}

export function recordHealth({ results, now, failingBefore, succeededBefore }: HealthInput): Statement<EndpointChange> {
  return {
    name: 'record-webhook-health',
    text: RECORD,
    values: [
      results.map(({ organizationId }) => organizationId),
      results.map(({ mode }) => mode),
      results.map(({ endpointId }) => endpointId),
      results.map(({ result }) => result),
      now,
      failingBefore,
      succeededBefore,
      results.map(({ url }) => url),
    ],
  };
}

// Makes messages that wait because their endpoint was failing due at once, the oldest first; then records that it no longer
// fails. Messages that were not tried during the failure keep their time, and so do those that have been tried $6 times: they
// fail for another reason. Two statements, each in its own transaction.
// Writes: webhook_messages (index webhook_messages_due), then webhook_endpoints (primary key). Locks: the messages, skip locked;
// the endpoint's row. Rows: up to $7; 0 or 1. Not the ORM: SKIP LOCKED inside an update with a limit.
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
