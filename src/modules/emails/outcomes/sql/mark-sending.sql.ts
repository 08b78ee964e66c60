// Records that workers have claimed recipients for their first attempt: what applyOutcomes makes of `sending`, in one
// statement, because every mail comes by here. What has been recorded before changes nothing. Times are the database's, as
// those of acceptance: the claim begins before its transaction does, on another clock.
// Writes: email_recipients, emails (primary keys), email_events (insert). Locks: emails in primary-key order.
// Rows: one claim. Not the ORM: three tables for a whole batch in one round trip instead of three.
import type { Statement } from '../../../../database/statement';
import type { RecordedOutcome } from '../../../../delivery/ports/outcome';
import { eventData } from '../outcome-events';
import { keyColumns } from './lock-emails.sql';

const TEXT = `
  with claimed as materialized (
    select g.*, e.status as email_status, e.event_sequence
    from unnest(
      $1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::text[], $6::text[]
    ) as g (organization_id, mode, id, position, source, data)
    join emails e using (organization_id, mode, id)
    order by e.organization_id, e.mode, e.id
    for no key update of e
  ), begun as (
    update email_recipients r
    set
      seen = r.seen | 1,
      status = case when r.status in ('queued', 'scheduled') then 'sending' else r.status end,
      updated_at = $7
    from claimed c
    where r.organization_id = c.organization_id and r.mode = c.mode and r.email_id = c.id and r.position = c.position
      and r.seen & 1 = 0
    returning c.*, r.status
  ), numbered as (
    select
      b.*,
      (email_status = 'scheduled')::int as announced,
      row_number() over (partition by organization_id, mode, id order by position) as number
    from begun b
  ), changed_emails as (
    update emails e
    set
      status = case when n.sending and e.status in ('queued', 'scheduled') then 'sending' else e.status end,
      event_sequence = e.event_sequence + n.events,
      updated_at = $7
    from (
      select organization_id, mode, id, bool_or(status = 'sending') as sending, max(announced + number) as events
      from numbered
      group by organization_id, mode, id
    ) n
    where e.organization_id = n.organization_id and e.mode = n.mode and e.id = n.id
  )
  insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
  select
    organization_id, mode, id, event_sequence + announced + number, event_id(clock_timestamp(), number), 'sending', source,
    clock_timestamp(), data::jsonb
  from numbered
  union all
  select organization_id, mode, id, event_sequence + 1, event_id(clock_timestamp(), 0), 'queued', 'system', clock_timestamp(), '{}'
  from numbered
  where announced = 1 and number = 1`;

/** @param claims outcomes of the kind `sending`, each recipient once */
export function markSending(claims: readonly RecordedOutcome[], now: Date): Statement<never> {
  return {
    name: 'mark-sending',
    text: TEXT,
    values: [
      ...keyColumns(claims),
      claims.map((claim) => claim.position),
      claims.map((claim) => claim.source),
      claims.map((claim) => JSON.stringify(eventData(claim))),
      now,
    ],
  };
}
