// Reads the next events of one organization's emails, oldest first, or the last ones before a position, newest first.
// Reads: email_events (index email_events_feed), emails (primary key). Locks: none. Rows: up to $5.
// One tenant per statement: a cluster cannot route a statement with a limit for each of many tenants to their nodes; nor one that
// also reads inbound mail, which is on no node (docs/scaling.md).
// Not the ORM: two tables joined in the order of one index; many streams in one round trip.
import { INBOUND_RECEIVED } from '../../../common/event-types';
import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { EventKey, FeedRow, FeedStream } from '../feed-event';

type Direction = 'asc' | 'desc';

/** The id below which no event will be added (migration 0017). To be read in a statement of its own, before the feed. */
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
    m.metadata,
    null::uuid as "webhookId",
    e.sending_ms as "sendingMs",
    e.also_sent as "alsoSent"`;

const feed = (direction: Direction) => `
  select ${COLUMNS}
  from email_events e
  cross join lateral (
    select domain_id, tags, metadata from emails where organization_id = $1 and mode = $2 and id = e.email_id limit 1
  ) m
  where e.organization_id = $1 and e.mode = $2 and e.id > $3 and e.id < $4
  order by e.id ${direction}
  limit $5`;

const [FEED, FEED_BACK] = [feed('asc'), feed('desc')];

/** Rows to be expanded. @param end of `readEventHorizon`, or before it; events from it on are left out @param limit rows at most */
export function readEventFeed(stream: FeedStream, end: string, limit: number): Statement<FeedRow> {
  return { name: 'read-event-feed', text: FEED, values: feedValues(stream, end, limit) };
}

/** The same from the end back: the newest first. */
export function readEventFeedBack(stream: FeedStream, end: string, limit: number): Statement<FeedRow> {
  return { name: 'read-event-feed-back', text: FEED_BACK, values: feedValues(stream, end, limit) };
}

function feedValues({ organizationId, mode, after }: FeedStream, end: string, limit: number): unknown[] {
  return [organizationId, mode, after, end, limit];
}

// Reads the inbound mail of the same stream; each row is one event.
// Reads: inbound_emails (primary key). Locks: none. Rows: up to $5.
// Not the ORM: one round trip with the statement above.

/** The sequence of the event of an inbound email; the events of sent emails count from 1. */
export const INBOUND_SEQUENCE = 0;

/** Inbound mail has this event only. */
const INBOUND_COLUMNS = `
    i.organization_id as "organizationId",
    i.mode,
    i.id as "emailId",
    i.id,
    i.domain_id as "domainId",
    ${INBOUND_SEQUENCE} as sequence,
    '${INBOUND_RECEIVED}' as "eventType",
    'inbound' as source,
    i.received_at as "occurredAt",
    i.data || jsonb_build_object(
      'routeId', i.route_id,
      'envelope', jsonb_build_object('from', i.envelope_from, 'to', to_jsonb(i.envelope_to)),
      'sizeBytes', i.size_bytes
    ) as data,
    null::text[] as tags,
    null::jsonb as metadata,
    i.webhook_id as "webhookId",
    null::int as "sendingMs",
    null::boolean as "alsoSent"`;

const INBOUND_FEED_BACK = `
  select ${INBOUND_COLUMNS}
  from inbound_emails i
  where i.organization_id = $1 and i.mode = $2 and i.id > $3 and i.id < $4
  order by i.id desc
  limit $5`;

/** The last rows of inbound mail before the end: the newest first. @param end as of `readEventFeed` @param limit rows at most */
export function readInboundFeedBack(stream: FeedStream, end: string, limit: number): Statement<FeedRow> {
  return { name: 'read-inbound-feed-back', text: INBOUND_FEED_BACK, values: feedValues(stream, end, limit) };
}

// The next inbound mail of many streams: one statement, because that table is on no node of a cluster, and most have none.
// Reads: inbound_emails (primary key, for each stream). Locks: none. Rows: up to $5 of each stream.
// Not the ORM: a limit for each of many tenants.
const INBOUND_FEEDS = `
  select wanted.stream::int, found.*
  from unnest($1::uuid[], $2::text[], $3::uuid[]) with ordinality as wanted (organization_id, mode, after, stream)
  cross join lateral (
    select ${INBOUND_COLUMNS}
    from inbound_emails i
    where i.organization_id = wanted.organization_id and i.mode = wanted.mode and i.id > wanted.after and i.id < $4
    order by i.id
    limit $5
  ) found`;

/** A row, and the number of its stream among those given, from 1. */
export type StreamRow = FeedRow & { readonly stream: number };

/** @param end as of `readEventFeed` @param limit rows of each stream at most */
export function readInboundFeeds(streams: readonly FeedStream[], end: string, limit: number): Statement<StreamRow> {
  const owners = [streams.map(({ organizationId }) => organizationId), streams.map(({ mode }) => mode)];
  const values = [...owners, streams.map(({ after }) => after), end, limit];
  return { name: 'read-inbound-feeds', text: INBOUND_FEEDS, values };
}

// Finds the rows that record events of one tenant's emails, by the events' keys: the first with that sequence or a later one.
// Reads: email_events, emails (primary keys). Locks: none. Rows: a batch of webhook messages.
// Lateral subqueries, so that the planner looks up key by key whatever its statistics say.
// Not the ORM: a batch of keys joined across two partitioned tables.

const BY_KEY = `
  select ${COLUMNS}
  from unnest($3::uuid[], $4::int[]) as wanted (email_id, sequence)
  cross join lateral (
    select *
    from email_events
    where organization_id = $1 and mode = $2 and email_id = wanted.email_id and sequence >= wanted.sequence
    order by sequence
    limit 1
  ) e
  cross join lateral (
    select domain_id, tags, metadata
    from emails
    where organization_id = $1 and mode = $2 and id = wanted.email_id
    limit 1
  ) m`;

/** Rows to be expanded; one may be of a later event, or be there twice. @param keys of this tenant */
export function findFeedEvents({ organizationId, mode }: Tenant, keys: readonly EventKey[]): Statement<FeedRow> {
  return {
    name: 'find-feed-events',
    text: BY_KEY,
    values: [organizationId, mode, keys.map((key) => key.emailId), keys.map((key) => key.sequence)],
  };
}

// Finds inbound mail of one tenant by its ids.
// Reads: inbound_emails (primary key). Locks: none. Rows: a batch of webhook messages.
// Not the ORM: one round trip with the statement above.

const INBOUND_BY_ID = `
  select ${INBOUND_COLUMNS}
  from unnest($3::uuid[]) as wanted (id)
  join inbound_emails i on i.organization_id = $1 and i.mode = $2 and i.id = wanted.id`;

/** @param keys of this tenant's mail */
export function findInboundEvents({ organizationId, mode }: Tenant, keys: readonly EmailKey[]): Statement<FeedRow> {
  const ids = keys.map(({ emailId }) => emailId);
  return { name: 'find-inbound-events', text: INBOUND_BY_ID, values: [organizationId, mode, ids] };
}
