// The next events of many streams at once, each stream by itself oldest first.
// Reads: email_events (index email_events_feed), emails (primary key). Locks: none. Rows: streams × limit.
// Not the ORM: a limit for each of many streams in one round trip.
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
  select wanted.stream::int - 1 as stream, e.*
  from unnest($1::uuid[], $2::text[], $3::uuid[])
    with ordinality as wanted (organization_id, mode, after, stream)
  cross join lateral (
    select ${COLUMNS}
    from email_events e
    join emails m on m.organization_id = e.organization_id and m.mode = e.mode and m.id = e.email_id
    where e.organization_id = wanted.organization_id and e.mode = wanted.mode and e.id > wanted.after and e.id < $4
    order by e.id
    limit $5
  ) e
  order by wanted.stream, e.id`;

/** `stream` is the index into `streams`. */
export function readEventFeed(
  streams: readonly FeedStream[],
  horizon: string,
  limitEach: number,
): Statement<FeedEvent & { stream: number }> {
  return {
    name: 'read-event-feed',
    text: FEED,
    values: [
      streams.map((stream) => stream.organizationId),
      streams.map((stream) => stream.mode),
      streams.map((stream) => stream.after),
      horizon,
      limitEach,
    ],
  };
}

const BY_KEY = `
  select ${COLUMNS}
  from unnest($1::uuid[], $2::text[], $3::uuid[], $4::int[]) as wanted (organization_id, mode, email_id, sequence)
  join email_events e using (organization_id, mode, email_id, sequence)
  join emails m on m.organization_id = e.organization_id and m.mode = e.mode and m.id = e.email_id`;

export function findFeedEvents(keys: readonly EventKey[]): Statement<FeedEvent> {
  return {
    name: 'find-feed-events',
    text: BY_KEY,
    values: [
      keys.map((key) => key.organizationId),
      keys.map((key) => key.mode),
      keys.map((key) => key.emailId),
      keys.map((key) => key.sequence),
    ],
  };
}
