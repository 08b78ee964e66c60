import type { Tenant } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statements/statement';
import { NO_RESPONSE } from './message-claims.sql';

// What waits to be sent and how many endpoints there are, of the whole installation. Messages of removed endpoints, which
// remain until the clean-up, do not count. Those of a failing endpoint are not late as long as others are sent: they wait because of
// their receiver. When nothing has been sent since it began to fail, the fault may be on this side.
// Reads: webhook_messages (index webhook_messages_due), webhook_endpoints. Locks: none. Rows: 1.
// Not the ORM: two aggregates in one round trip.
export interface DispatchMeasure {
  readonly pending: number;
  /** How long the message that is due the longest has waited since, see the statement; 0 when none is due. */
  readonly oldestDueSeconds: number;
  readonly enabled: number;
  readonly failing: number;
  readonly disabled: number;
}

const MEASURE = `
  select m.pending::int, m.oldest_due_seconds::float8 as "oldestDueSeconds", e.enabled, e.failing, e.disabled
  from (
    select count(*) as pending,
      greatest(0, coalesce(extract(epoch from $1::timestamptz - min(w.next_attempt_at) filter (
        where e.failing_since is null or s.last_success_at is null or e.failing_since >= s.last_success_at
      )), 0)) as oldest_due_seconds
    from webhook_messages w
    join webhook_endpoints e on e.organization_id = w.organization_id and e.mode = w.mode and e.id = w.endpoint_id
    cross join (select max(last_success_at) as last_success_at from webhook_endpoints) s
    where w.state = 'pending'
  ) m
  cross join (
    select
      count(*) filter (where enabled and failing_since is null)::int as enabled,
      count(*) filter (where enabled and failing_since is not null)::int as failing,
      count(*) filter (where not enabled)::int as disabled
    from webhook_endpoints
  ) e`;

export function measureDispatch(now: Date): Statement<DispatchMeasure> {
  return { name: 'measure-webhook-dispatch', text: MEASURE, values: [now] };
}

// What background jobs and erasures do to messages, a batch at a time.

// Frees the claims of processes that are no more, also those that end later than one made now ($3): the database's clock has been set back
// since, and they would last as much longer. Ends what waits for endpoints that are disabled.
// Writes: webhook_messages (indexes webhook_messages_sending and webhook_messages_due). Reads: webhook_endpoints.
// Locks: rows, skip locked. Rows: up to a limit. Not the ORM: SKIP LOCKED inside an update with a limit.
const FREE = `
  update webhook_messages m
  set state = 'pending', claimed_until = null, next_attempt_at = $1
  from (
    select organization_id, mode, endpoint_id, id
    from webhook_messages
    where state = 'sending' and (claimed_until < $1 or claimed_until > $3::timestamptz + interval '5 seconds')
    order by claimed_until
    limit $2
    for update skip locked
  ) lost
  where m.organization_id = lost.organization_id and m.mode = lost.mode
    and m.endpoint_id = lost.endpoint_id and m.id = lost.id
  returning m.id`;

/** @param latest the end of a claim made now; clocks of processes differ by up to 5 s */
export function freeOrphanedClaims(now: Date, latest: Date, limit: number): Statement<{ id: string }> {
  return { name: 'free-orphaned-webhook-claims', text: FREE, values: [now, limit, latest] };
}

const END = `
  update webhook_messages m
  set state = 'failed', last_error = $1
  from (
    select waiting.*
    from webhook_endpoints e
    cross join lateral (
      select organization_id, mode, endpoint_id, id
      from webhook_messages
      where state = 'pending' and organization_id = e.organization_id and mode = e.mode and endpoint_id = e.id
      limit $2
      for update skip locked
    ) waiting
    where not e.enabled
    limit $2
  ) ended
  where m.organization_id = ended.organization_id and m.mode = ended.mode
    and m.endpoint_id = ended.endpoint_id and m.id = ended.id
  returning m.id`;

export function endOfDisabled(error: string, limit: number): Statement<{ id: string }> {
  return { name: 'end-webhooks-of-disabled', text: END, values: [error, limit] };
}

// Forgets messages whose time is over.
// Writes: webhook_messages (index webhook_messages_age). Locks: the rows, skip locked. Rows: up to $2.
// Without organization: retention is the same for all. Not the ORM: a bounded delete.
const DELETE_OLD = `
  delete from webhook_messages m
  using (
    select organization_id, mode, endpoint_id, id
    from webhook_messages
    where created_at < $1
    order by created_at
    limit $2
    for update skip locked
  ) old
  where m.organization_id = old.organization_id and m.mode = old.mode and m.endpoint_id = old.endpoint_id and m.id = old.id
  returning 1 as deleted`;

export function deleteOldMessages(before: Date, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-webhook-messages', text: DELETE_OLD, values: [before, limit] };
}

// Deletes the responses of all endpoints to messages about some events, and those to attempts that are under way or about to begin,
// which may have read the event before. A message has its event's id.
// Reads: webhook_endpoints (the tenant's). Writes: webhook_messages (primary key, one look-up for each event and endpoint).
// Locks: the rows in the order of their keys. Rows: the messages of $3.
// Not the ORM: look-ups by two columns of the key, whatever the planner knows of the table.
const ERASE_RESPONSES = `
  with answered as materialized (
    select m.endpoint_id, m.id
    from (select id from webhook_endpoints where organization_id = $1 and mode = $2 order by id) e
    cross join lateral (
      select told.endpoint_id, told.id
      from unnest($3::uuid[]) as v (id)
      cross join lateral (
        select endpoint_id, id
        from webhook_messages
        where organization_id = $1 and mode = $2 and endpoint_id = e.id and id = v.id
          and (last_answer is not null or state in ('pending', 'sending'))
        limit 1
        for update
      ) told
    ) m
  )
  update webhook_messages m
  set last_answer = case when m.state in ('pending', 'sending') then ${NO_RESPONSE} end
  from answered a
  where m.organization_id = $1 and m.mode = $2 and m.endpoint_id = a.endpoint_id and m.id = a.id and m.id = any($3::uuid[])`;

export function eraseResponses({ organizationId, mode }: Tenant, eventIds: readonly string[]): Statement<never> {
  return { name: 'erase-webhook-answers', text: ERASE_RESPONSES, values: [organizationId, mode, [...eventIds].sort()] };
}
