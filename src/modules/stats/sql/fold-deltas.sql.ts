// Moves up to $1 deltas into their hourly rows.
// Writes: stats_deltas (delete by primary key), stats_hourly (upsert by primary key). Locks: deltas in id order with
// skip locked, then hourly rows in key order. Rows: thousands of deltas into a few hourly rows.
// Not the ORM: one statement instead of one per row.
import type { Statement } from '../../../database/statement';

const TEXT = `
  with taken as (
    delete from stats_deltas
    where id in (select id from stats_deltas order by id limit $1 for update skip locked)
    returning *
  ), summed as (
    select
      organization_id, mode, domain_id, hour,
      sum(emails) as emails, sum(accepted) as accepted, sum(sent) as sent, sum(delivered) as delivered,
      sum(bounced) as bounced, sum(failed) as failed, sum(deferred) as deferred, sum(complaints) as complaints,
      sum(unsubscribes) as unsubscribes, sum(opens) as opens, sum(clicks) as clicks,
      count(*) as deltas
    from taken
    group by organization_id, mode, domain_id, hour
    order by organization_id, mode, domain_id, hour
  ), folded as (
    insert into stats_hourly as s (
      organization_id, mode, domain_id, hour,
      emails, accepted, sent, delivered, bounced, failed, deferred, complaints, unsubscribes, opens, clicks
    )
    select
      organization_id, mode, domain_id, hour,
      emails, accepted, sent, delivered, bounced, failed, deferred, complaints, unsubscribes, opens, clicks
    from summed
    on conflict (organization_id, mode, domain_id, hour) do update set
      emails = s.emails + excluded.emails,
      accepted = s.accepted + excluded.accepted,
      sent = s.sent + excluded.sent,
      delivered = s.delivered + excluded.delivered,
      bounced = s.bounced + excluded.bounced,
      failed = s.failed + excluded.failed,
      deferred = s.deferred + excluded.deferred,
      complaints = s.complaints + excluded.complaints,
      unsubscribes = s.unsubscribes + excluded.unsubscribes,
      opens = s.opens + excluded.opens,
      clicks = s.clicks + excluded.clicks
    returning 1
  )
  select coalesce(sum(deltas), 0)::int as folded from summed`;

export function foldDeltas(limit: number): Statement<{ folded: number }> {
  return { name: 'fold-stat-deltas', text: TEXT, values: [limit] };
}
