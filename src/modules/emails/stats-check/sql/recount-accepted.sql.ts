// Counts one page of emails as the statistics count them: emails in the hour of their ids, recipients in the hour in which
// they were accepted.
// Reads: emails and email_recipients (primary keys). Locks: none. Rows: one page of emails.
// Not the ORM: aggregates over two tables.
import type { Statement } from '../../../../database/statement';
import type { RecountedRow, RecountPage } from '../stats-counts';

const TEXT = `
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

/** @param endId emails with this id or a later one are left out */
export function recountAccepted(
  { organizationId, mode, after, from, to }: RecountPage,
  endId: string,
  limit: number,
): Statement<RecountedRow> {
  return { name: 'recount-accepted', text: TEXT, values: [organizationId, mode, after, limit, from, to, endId] };
}
