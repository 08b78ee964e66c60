// The next events of one organization's stream, oldest first.
// Reads: email_events (index email_events_feed), emails (primary key). Locks: none. Rows: up to $5.
// One tenant by parameter: a limit for each of many streams could not be sent to the tenants' nodes (docs/scaling.md).
// Not the ORM: two tables joined in the order of one index; many streams in one round trip.
import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';
import type { EventKey, FeedEvent, FeedStream } from '../feed-event';

/** Nothing with a smaller id will be added any more (migration 0017). To be read by a statement of its own, before the feed. */
export function readEventHorizon(): Statement<{ horizon: string }> {
  return { name: 'read-event-horizon', text: 'select event_horizon() as horizon', values: [] };
}

const COLUMNS = `
    e.organization_id as "organizationId",
    e.mode,
    e.email_id as "emailId",
    e.id,
    m.domain_id as "domainId",
    e.sequence,
    e.event_type as "eventType",
    e.source,
    e.occurred_at as "occurredAt",
    e.data,
    m.tags,
    m.metadata`;

const FEED = `
  select ${COLUMNS}
  from email_events e
  cross join lateral (
    select domain_id, tags, metadata from emails where organization_id = $1 and mode = $2 and id = e.email_id limit 1
  ) m
  where e.organization_id = $1 and e.mode = $2 and e.id > $3 and e.id < $4
  order by e.id
  limit $5`;

export function readEventFeed(
  { organizationId, mode, after }: FeedStream,
  horizon: string,
  limit: number,
): Statement<FeedEvent> {
  return { name: 'read-event-feed', text: FEED, values: [organizationId, mode, after, horizon, limit] };
}

// Events by their keys, of one tenant.
// Reads: email_events, emails (primary keys). Locks: none. Rows: a batch of webhook messages.
// Look-ups in subqueries of their own, so that they are asked for one key after the other whatever the planner knows.
// Not the ORM: a batch of keys joined across two partitioned tables.

const BY_KEY = `
  select ${COLUMNS}
  from unnest($3::uuid[], $4::int[]) as wanted (email_id, sequence)
  cross join lateral (
    select *
    from email_events
    where organization_id = $1 and mode = $2 and email_id = wanted.email_id and sequence = wanted.sequence
    limit 1
  ) e
  cross join lateral (
    select domain_id, tags, metadata
    from emails
    where organization_id = $1 and mode = $2 and id = wanted.email_id
    limit 1
  ) m`;

/** @param keys of this tenant */
export function findFeedEvents({ organizationId, mode }: Tenant, keys: readonly EventKey[]): Statement<FeedEvent> {
  return {
    name: 'find-feed-events',
    text: BY_KEY,
    values: [organizationId, mode, keys.map((key) => key.emailId), keys.map((key) => key.sequence)],
  };
}
