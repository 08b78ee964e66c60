// Inbound mail: how it is stored and read, in parts of 1 MiB.
import type { Statement } from '../../../../database/statements/statement';
import {
  type InboundCapacity,
  type InboundEmailKey,
  type NewInboundEmail,
  ROW_BYTES,
  type Stored,
} from '../inbound-email';

// Adds one copy of a message, unless it is there, its organization or route has had too many within the hour, or the
// organization keeps too much; "else" says which. The id is
// an event's (migration 0017), made in this transaction by the database's clock, so that the feed never passes it over.
// Reads: inbound_usage. Reads and writes: inbound_emails (primary key, up to $12 entries of the last hour; digest). Locks: the
// new row. Rows: 1.
// Messages that come at the same moment may exceed a limit by their number; it is a bound, not an account.
// Not the ORM: the limits and the insert are one statement.
const INSERT = `
  with recent as materialized (
    select route_id, size_bytes
    from inbound_emails
    where organization_id = $1 and mode = 'live' and id >= uuid_v7_floor(clock_timestamp() - interval '1 hour')
    limit $12
  ), state as materialized (
    select
      exists (select from inbound_emails where organization_id = $1 and mode = 'live' and digest = $5) as is_known,
      count(*) < $12 and coalesce(sum(size_bytes), 0) + $11 <= $13 and count(*) filter (where route_id = $2) < $14
        as has_capacity,
      coalesce((select bytes from inbound_usage where organization_id = $1), 0) + $11 + ${ROW_BYTES} <= $15 as has_room
    from recent
  ), added as (
    insert into inbound_emails (
      organization_id, mode, id, route_id, domain_id, webhook_id, digest, envelope_from, envelope_to, from_address,
      addresses, data, size_bytes, received_at
    )
    select $1::uuid, 'live', event_id(clock_timestamp(), 0), $2::uuid, $3::uuid, $4::uuid, $5::bytea, $6::text, $7::text[],
      $8::text, $9::text[], $10::jsonb, $11::integer, clock_timestamp()
    from state
    where has_capacity and has_room and not is_known
    on conflict (organization_id, mode, digest) do nothing
    returning id
  )
  select
    (select id from added) as id,
    case when is_known then 'known' when not has_room then 'no_room' when not has_capacity then 'full' else 'known' end
      as "else"
  from state`;

export function insertInboundEmail(
  email: NewInboundEmail,
  { perHour, bytesPerHour, perRouteAndHour, storedBytes }: InboundCapacity,
): Statement<{ id: string | null; else: Exclude<Stored, 'new'> }> {
  return {
    name: 'insert-inbound-email',
    text: INSERT,
    values: [
      ...[email.organizationId, email.routeId, email.domainId, email.webhookId, email.digest, email.envelopeFrom],
      ...[email.envelopeTo, email.fromAddress, email.addresses, JSON.stringify(email.data), email.sizeBytes],
      ...[perHour, bytesPerHour, perRouteAndHour, storedBytes],
    ],
  };
}

// Counts a message that has been added: the last statement of its transaction, so that others wait for the commit alone.
// Writes: inbound_usage (primary key). Locks: the organization's row. Rows: 1.
// Not the ORM: an upsert that adds.
const COUNT = `
  insert into inbound_usage as u (organization_id, emails, bytes) values ($1, 1, $2::bigint + ${ROW_BYTES})
  on conflict (organization_id) do update set emails = u.emails + 1, bytes = u.bytes + excluded.bytes`;

export function countInboundEmail(organizationId: string, sizeBytes: number): Statement<unknown> {
  return { name: 'count-inbound-email', text: COUNT, values: [organizationId, sizeBytes] };
}

// One part of a message. Writes: inbound_email_parts. Locks: the new row. Rows: 1.
// Not the ORM: a MiB goes through the driver once, and nothing else with it.
const INSERT_PART = `
  insert into inbound_email_parts (organization_id, mode, email_id, position, content)
  values ($1, $2, $3, $4, $5)`;

export function insertInboundPart(
  { organizationId, mode, id }: InboundEmailKey,
  position: number,
  content: Buffer,
): Statement<unknown> {
  return {
    name: 'insert-inbound-part',
    text: INSERT_PART,
    values: [organizationId, mode, id, position, content],
  };
}

// The sizes of a message's parts, then one of them with its bytes. Reads: inbound_email_parts (primary key). Locks: none.
// Not the ORM: the driver holds one part at a time.
const SIZES = `
  select position, octet_length(content) as size
  from inbound_email_parts
  where organization_id = $1 and mode = $2 and email_id = $3
  order by position`;

export function readInboundSizes({ organizationId, mode, id }: InboundEmailKey) {
  const values = [organizationId, mode, id];
  return { name: 'read-inbound-sizes', text: SIZES, values } satisfies Statement<unknown> as Statement<{
    position: number;
    size: number;
  }>;
}

const PART = `
  select content
  from inbound_email_parts
  where organization_id = $1 and mode = $2 and email_id = $3 and position = $4`;

export function readInboundPart(
  { organizationId, mode, id }: InboundEmailKey,
  position: number,
): Statement<{ content: Buffer }> {
  return { name: 'read-inbound-part', text: PART, values: [organizationId, mode, id, position] };
}
