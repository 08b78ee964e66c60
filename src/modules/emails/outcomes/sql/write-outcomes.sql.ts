// Writes the changes of outcomes to emails and their recipients.
// Writes: email_recipients, emails (primary keys). Locks: the rows; lock-emails has locked the emails, which protects their
// recipients too. Rows: one settle batch.
// Where the tables are distributed, one tenant as a parameter: its node then plans for these values, and finds all keys in one
// index scan. Elsewhere all three columns of the keys come from the arrays: with a tenant as a parameter, a plan made while the
// tables were empty would scan all rows of the tenant.
// Not the ORM: two tables for a whole batch in one round trip.
import type { AsRow } from '../../../events/event-rows';
import type { Tenant } from '../../../../common/tenant';
import { TextArray } from '../../../../database/statements/pg-array';
import type { Statement } from '../../../../database/statements/statement';
import type { EmailKey } from '../../../../delivery/ports/delivery';
import type { EmailChanges, NewEvent } from '../email-state';
import { packTrace } from '../stored-trace';

const changesWhere = (isTenant: (table: string, key: string, keys: string) => string) => `
  with changed_recipients as (
    update email_recipients r
    set status = c.status, seen = c.seen, attempts = c.attempts, last_response = c.last_response, updated_at = $1
    from unnest($2::uuid[], $3::text[], $4::uuid[], $5::smallint[], $6::text[], $7::int[], $8::int[], $9::text[])
      as c (organization_id, mode, email_id, position, status, seen, attempts, last_response)
    where r.organization_id = c.organization_id and r.mode = c.mode and r.email_id = c.email_id and r.position = c.position
      ${isTenant('r', 'email_id', '$4')}
  )
  update emails e
  set
    status = c.status,
    event_sequence = c.event_sequence,
    sent_at = least(e.sent_at, c.sent_at),
    delivered_at = least(e.delivered_at, c.delivered_at),
    bounced_at = least(e.bounced_at, c.bounced_at),
    failed_at = least(e.failed_at, c.failed_at),
    open_count = e.open_count + c.opens,
    click_count = e.click_count + c.clicks,
    updated_at = $1
  from unnest(
    $10::uuid[], $11::text[], $12::uuid[], $13::text[], $14::int[],
    $15::timestamptz[], $16::timestamptz[], $17::timestamptz[], $18::timestamptz[], $19::int[], $20::int[]
  ) as c (
    organization_id, mode, id, status, event_sequence, sent_at, delivered_at, bounced_at, failed_at, opens, clicks
  )
  where e.organization_id = c.organization_id and e.mode = c.mode and e.id = c.id
    ${isTenant('e', 'id', '$12')}`;

const CHANGES = changesWhere(() => '');
const CHANGES_OF_TENANT = changesWhere(
  (table, key, keys) =>
    `and ${table}.organization_id = $21 and ${table}.mode = $22 and ${table}.${key} = any (${keys})`,
);

/** Sets the first time of each kind only once, and adds opens and clicks. @param tenant of all changes; needed where the tables are distributed */
export function writeOutcomes(changes: readonly EmailChanges[], now: Date, tenant?: Tenant): Statement<never> {
  const values = [now, ...recipientColumns(changes), ...emailColumns(changes)];
  if (!tenant) return { name: 'write-outcomes', text: CHANGES, values };
  return {
    name: 'write-outcomes-of-tenant',
    text: CHANGES_OF_TENANT,
    values: [...values, tenant.organizationId, tenant.mode],
  };
}

function recipientColumns(changes: readonly EmailChanges[]): unknown[] {
  const rows = changes.flatMap((change) => change.recipients.map((recipient) => ({ ...recipient, change })));
  return [
    ...keyColumns(rows.map((row) => row.change)),
    rows.map((row) => row.position),
    rows.map((row) => row.status),
    rows.map((row) => row.seen),
    rows.map((row) => row.attempts),
    new TextArray(rows.map((row) => row.lastResponse)),
  ];
}

function emailColumns(changes: readonly EmailChanges[]): unknown[] {
  return [
    ...keyColumns(changes),
    changes.map((change) => change.status),
    changes.map((change) => change.eventSequence),
    changes.map((change) => change.times.sentAt),
    changes.map((change) => change.times.deliveredAt),
    changes.map((change) => change.times.bouncedAt),
    changes.map((change) => change.times.failedAt),
    changes.map((change) => change.opens),
    changes.map((change) => change.clicks),
  ];
}

// Adds the events of outcomes, those of all tenants of a batch; a row may record several (`compactEvents`).
// Writes: email_events (insert only). Locks: none beyond the new rows. Rows: those of one settle batch.
// A separate statement: within the update above it could not be routed to the tenant's node.
// Not the ORM: a batch in one round trip, with ids that the database generates.

const INSERT_EVENTS = `
  insert into email_events (
    organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data, trace, attempt, sending_ms, also_sent
  )
  select
    n.organization_id, n.mode, n.email_id, n.sequence, event_id(clock_timestamp(), n.number) as id, n.event_type, n.source,
    n.occurred_at, n.data::jsonb as data, n.trace::jsonb as trace, n.attempt, n.sending_ms, n.also_sent
  from unnest(
    $1::uuid[], $2::text[], $3::uuid[], $4::int[], $5::text[], $6::text[], $7::timestamptz[], $8::text[],
    $9::text[], $10::text[], $11::int[], $12::boolean[]
  ) with ordinality as n (
    organization_id, mode, email_id, sequence, event_type, source, occurred_at, data, trace, attempt, sending_ms, also_sent,
    number
  )`;

/** Their ids increase in the order of the changes and their events. @param events of one email each, in the order of their sequence */
export function insertEvents(events: readonly AsRow<NewEvent>[]): Statement<never> {
  return {
    name: 'insert-events',
    text: INSERT_EVENTS,
    values: [
      ...keyColumns(events),
      events.map((event) => event.sequence),
      events.map((event) => event.eventType),
      events.map((event) => event.source),
      events.map((event) => event.occurredAt),
      new TextArray(events.map((event) => JSON.stringify(event.data))),
      new TextArray(events.map((event) => (event.trace && !isSuccess(event) ? JSON.stringify(event.trace) : null))),
      new TextArray(events.map(successOf)),
      events.map((event) => event.sendingMs),
      events.map((event) => event.alsoSent),
    ],
  };
}

function isSuccess({ eventType }: NewEvent): boolean {
  return eventType === 'sent' || eventType === 'delivered';
}

/** The trace of a success, which has no rule, in its shorter form. */
function successOf(event: NewEvent): string | null {
  return event.trace && isSuccess(event) ? packTrace(event.trace, event.occurredAt) : null;
}

// Reads the time from which on a row may record several events. Reads: no table. Locks: none. Rows: one. Not the ORM: a function.
const COMPACT_SINCE = 'select compact_events_since() as since';

/** A week after the upgrade of a database in use: processes of the release before do not read such rows (docs/upgrading.md). */
export function readCompactSince(): Statement<{ since: Date }> {
  return { name: 'read-compact-since', text: COMPACT_SINCE, values: [] };
}

/** The three columns of emails' keys. */
function keyColumns(emails: readonly EmailKey[]): unknown[] {
  return [
    emails.map((email) => email.organizationId),
    emails.map((email) => email.mode),
    emails.map((email) => email.emailId),
  ];
}
