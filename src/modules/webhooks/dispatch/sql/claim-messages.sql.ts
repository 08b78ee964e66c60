// Claims due messages for one process, a few of each enabled endpoint and the endpoints in no fixed order, so that none
// waits for another. What an endpoint may have more is told for those that the process knows.
// Reads: webhook_endpoints (one scan of the enabled ones). Writes: webhook_messages (index webhook_messages_due, one look-up
// for each endpoint). Locks: the claimed rows, skip locked. Rows: up to $6.
// Not the ORM: SKIP LOCKED with a limit of its own for each of many endpoints.
import type { Statement } from '../../../../database/statement';
import type { ClaimedMessage, Room } from '../dispatched-message';

const TEXT = `
  with turns as materialized (
    select e.organization_id, e.mode, e.id, coalesce(k.room, case when e.failing_since is null then $5 else 1 end) as room
    from webhook_endpoints e
    left join unnest($3::uuid[], $4::int[]) as k (id, room) using (id)
    where e.enabled
    order by random()
  ), due as materialized (
    select m.organization_id, m.mode, m.endpoint_id, m.id
    from turns t
    cross join lateral (
      select organization_id, mode, endpoint_id, id
      from webhook_messages
      where state = 'pending' and organization_id = t.organization_id and mode = t.mode and endpoint_id = t.id
        and next_attempt_at <= $1
      order by next_attempt_at, id
      limit t.room
      for update skip locked
    ) m
    limit $6
  )
  update webhook_messages m
  set state = 'sending', attempts = m.attempts + 1, last_attempt_at = $1, claimed_until = $2
  from due d
  join webhook_endpoints e on e.organization_id = d.organization_id and e.mode = d.mode and e.id = d.endpoint_id
  where m.organization_id = d.organization_id and m.mode = d.mode and m.endpoint_id = d.endpoint_id and m.id = d.id
  returning
    m.organization_id as "organizationId",
    m.mode,
    m.endpoint_id as "endpointId",
    m.id,
    m.email_id as "emailId",
    m.sequence,
    m.event_type as "eventType",
    m.attempts,
    m.created_at as "createdAt",
    m.claimed_until as "claimedUntil",
    e.url,
    e.secret,
    e.previous_secret as "previousSecret",
    e.previous_secret_until as "previousSecretUntil",
    e.failing_since as "failingSince"`;

export interface ClaimInput {
  readonly now: Date;
  /** When the claims end by themselves. */
  readonly until: Date;
  readonly rooms: readonly Room[];
  /** How many to take of an endpoint that `rooms` does not name and that is not failing. */
  readonly freshRoom: number;
  readonly limit: number;
}

export function claimMessages({ now, until, rooms, freshRoom, limit }: ClaimInput): Statement<ClaimedMessage> {
  return {
    name: 'claim-webhook-messages',
    text: TEXT,
    values: [now, until, rooms.map(({ endpointId }) => endpointId), rooms.map(({ room }) => room), freshRoom, limit],
  };
}
