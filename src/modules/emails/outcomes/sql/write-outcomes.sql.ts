// Writes what outcomes changed: recipients, emails and their events.
// Writes: email_recipients, emails (primary keys), email_events (insert). Locks: none beyond those taken by lock-emails.
// Rows: one settle batch. Not the ORM: three tables for a whole batch in one round trip.
import { TextArray } from '../../../../database/pg-array';
import type { Statement } from '../../../../database/statement';
import type { EmailChanges } from '../email-state';
import { keyColumns } from './lock-emails.sql';

const TEXT = `
  with changed_recipients as (
    update email_recipients r
    set status = c.status, seen = c.seen, attempts = c.attempts, last_response = c.last_response, updated_at = $28
    from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::text[], $6::int[], $7::int[], $8::text[])
      as c (organization_id, mode, email_id, position, status, seen, attempts, last_response)
    where r.organization_id = c.organization_id and r.mode = c.mode and r.email_id = c.email_id and r.position = c.position
  ), changed_emails as (
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
      updated_at = $28
    from unnest(
      $9::uuid[], $10::text[], $11::uuid[], $12::text[], $13::int[],
      $14::timestamptz[], $15::timestamptz[], $16::timestamptz[], $17::timestamptz[], $18::int[], $19::int[]
    ) as c (
      organization_id, mode, id, status, event_sequence, sent_at, delivered_at, bounced_at, failed_at, opens, clicks
    )
    where e.organization_id = c.organization_id and e.mode = c.mode and e.id = c.id
  )
  insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
  select organization_id, mode, email_id, sequence, event_id(clock_timestamp(), number), event_type, source, occurred_at, data::jsonb
  from unnest(
    $20::uuid[], $21::text[], $22::uuid[], $23::int[], $24::text[], $25::text[], $26::timestamptz[], $27::text[]
  ) with ordinality as n (organization_id, mode, email_id, sequence, event_type, source, occurred_at, data, number)`;

export function writeOutcomes(changes: readonly EmailChanges[], now: Date): Statement<never> {
  return {
    name: 'write-outcomes',
    text: TEXT,
    values: [...recipientColumns(changes), ...emailColumns(changes), ...eventColumns(changes), now],
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

function eventColumns(changes: readonly EmailChanges[]): unknown[] {
  const events = changes.flatMap((change) => change.events);
  return [
    ...keyColumns(events),
    events.map((event) => event.sequence),
    events.map((event) => event.eventType),
    events.map((event) => event.source),
    events.map((event) => event.occurredAt),
    new TextArray(events.map((event) => JSON.stringify(event.data))),
  ];
}
