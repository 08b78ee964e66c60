// Counts one page of the event log by the rules of the statistics. An event counts for each recipient, with two exceptions: a delivery or
// bounce marked as a duplicate does not count, and of opens and clicks only the first that is not automated counts.
// Reads: email_events (index email_events_feed; primary key for earlier events), emails (primary key). Locks: none.
// Rows: one page of events. Not the ORM: an aggregate over earlier rows.
import type { Statement } from '../../../../database/statements/statement';
import type { RecountedRow, RecountPage } from '../stats-counts';

const EVENTS = `
  with page as materialized (
    select id, email_id, sequence, event_type, occurred_at, data, also_sent
    from email_events
    where organization_id = $1 and mode = $2 and id > $3
    order by id
    limit $4
  ), events as (
    select id, email_id, sequence, event_type, occurred_at, data from page
    union all
    select id, email_id, sequence, 'sent', occurred_at, data from page where also_sent
  ), counted as (
    select
      m.domain_id,
      date_trunc('hour', p.occurred_at, 'UTC') as hour,
      p.data @> '{"countsAgainstSender": false}' as is_excused,
      case p.event_type
        when 'hard_bounce' then 'bounced'
        when 'soft_bounce' then 'bounced'
        when 'unknown' then 'deferred'
        when 'blocked' then 'failed'
        when 'cancelled' then 'failed'
        when 'spam_report' then 'complaints'
        when 'unsubscribed' then 'unsubscribes'
        when 'opened' then 'opens'
        when 'clicked' then 'clicks'
        else p.event_type
      end as counter
    from events p
    join emails m on m.organization_id = $1 and m.mode = $2 and m.id = p.email_id
    where p.occurred_at >= $5 and p.occurred_at < $6
      and p.event_type not in ('queued', 'scheduled', 'sending')
      and not (p.event_type in ('delivered', 'bounced', 'hard_bounce') and p.data ? 'duplicate')
      and not (p.event_type in ('opened', 'clicked') and (p.data ? 'automated' or exists (
        select 1 from email_events earlier
        where earlier.organization_id = $1 and earlier.mode = $2 and earlier.email_id = p.email_id
          and earlier.sequence < p.sequence and earlier.event_type = p.event_type
          and not earlier.data ? 'automated'
          and earlier.data ->> 'recipient' is not distinct from p.data ->> 'recipient'
      )))
  )
  select l.read, l.last_id as "lastId", c.domain_id as "domainId", c.hour, c.counter, c.count
  from (select count(*)::int as read, (select id from page order by id desc limit 1) as last_id from page) l
  left join (
    select domain_id, hour, counter, count(*)::int as count from counted group by domain_id, hour, counter
    union all
    select domain_id, hour, 'excused', count(*)::int from counted where is_excused group by domain_id, hour
  ) c on true`;

/**
 * Returns one row per count, each with `read` and `lastId` of the page (null when it is empty). A page without counts has one row,
 * with nulls for domain, hour and counter. @param limit events per page
 */
export function recountEvents(
  { organizationId, mode, after, from, to }: RecountPage,
  limit: number,
): Statement<RecountedRow> {
  return { name: 'recount-events', text: EVENTS, values: [organizationId, mode, after, limit, from, to] };
}

// Counts one page of emails by the rules of the statistics: emails in the hour of their ids, recipients in the hour of acceptance.
// Reads: emails and email_recipients (primary keys). Locks: none. Rows: one page of emails.
// Not the ORM: aggregates over two tables.

const ACCEPTED = `
  with page as materialized (
    select id, domain_id, created_at
    from emails
    where organization_id = $1 and mode = $2 and id > $3 and id < $7
    order by id
    limit $4
  ), counted as (
    select domain_id, date_trunc('hour', made_at, 'UTC') as hour, 'emails' as counter, count(*) as count
    from (
      select domain_id, to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) as made_at
      from page
    ) made
    where made_at >= $5 and made_at < $6
    group by 1, 2
    union all
    select p.domain_id, date_trunc('hour', p.created_at, 'UTC'), 'accepted', count(*)
    from page p
    join email_recipients r on r.organization_id = $1 and r.mode = $2 and r.email_id = p.id
    where p.created_at >= $5 and p.created_at < $6
    group by 1, 2
  )
  select l.read, l.last_id as "lastId", c.domain_id as "domainId", c.hour, c.counter, c.count::int
  from (select count(*)::int as read, (select id from page order by id desc limit 1) as last_id from page) l
  left join counted c on true`;

/** Rows as of `recountEvents`. @param endId exclusive @param limit emails per page */
export function recountAccepted(
  { organizationId, mode, after, from, to }: RecountPage,
  endId: string,
  limit: number,
): Statement<RecountedRow> {
  return { name: 'recount-accepted', text: ACCEPTED, values: [organizationId, mode, after, limit, from, to, endId] };
}

// Claims the check of one day, unless it is done or another process runs it.
// Writes: stats_checks (primary key). Locks: its row. Rows: one.
// Not the ORM: an upsert with a condition.

const CLAIM = `
  insert into stats_checks as c (day, claimed_at) values ($1, $2)
  on conflict (day) do update set claimed_at = excluded.claimed_at
  where c.finished_at is null and c.claimed_at < $3
  returning 1`;

/** Returns a row when the claim succeeded, else none. @param day a UTC date @param abandonedBefore older claims belong to crashed processes */
export function claimStatsCheck(day: string, now: Date, abandonedBefore: Date): Statement<object> {
  return { name: 'claim-stats-check', text: CLAIM, values: [day, now, abandonedBefore] };
}
