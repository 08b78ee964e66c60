import type { Statement } from '../../../database/statements/statement';
import { COUNTERS, type HourlyDelta, type Period, PROVIDER_COUNTERS, type SentAmounts } from '../stat-delta';

// All statements that write counters: commits append deltas, a job folds them into hours, retention subtracts emails.

// Appends counters; a job folds them into stats_hourly.
// Writes: stats_deltas (insert only, so that no two commits wait for one counter row: one hot hourly row held accepts
// down to 1,700/s where 7,000/s were possible). Locks: none beyond the new rows. Rows: one per domain and hour of a batch,
// however many receivers it had mail for.
const APPEND_DELTAS = `
  insert into stats_deltas (
    organization_id, mode, domain_id, hour,
    emails, accepted, sent, delivered, bounced, failed, deferred, complaints, unsubscribes, opens, clicks, excused,
    by_provider
  )
  select *
  from unnest(
    $1::uuid[], $2::text[], $3::uuid[], $4::timestamptz[],
    $5::int[], $6::int[], $7::int[], $8::int[], $9::int[], $10::int[], $11::int[], $12::int[], $13::int[], $14::int[], $15::int[],
    $16::int[], $17::jsonb[]
  )`;

/** @param rows one per domain and hour; `byProvider` is undefined where no receiver group counted */
export function appendDeltas(rows: readonly HourlyDelta[]): Statement<never> {
  return {
    name: 'append-stat-deltas',
    text: APPEND_DELTAS,
    values: [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.mode),
      rows.map((row) => row.domainId),
      rows.map((row) => row.hour),
      ...COUNTERS.map((counter) => rows.map((row) => row[counter])),
      rows.map((row) => (row.byProvider ? JSON.stringify(row.byProvider) : null)),
    ],
  };
}

// Moves up to $1 deltas into their hourly rows and returns their sums of live mail.
// Writes: stats_deltas (delete by primary key), stats_hourly and stats_providers (upsert by primary key). Locks: deltas in id
// order with skip locked, then the rows of each other table in key order. Rows: thousands of deltas into a few hourly rows.
// Not the ORM: one statement instead of one per row.
/** Whether there are any. */
export const HAS_DELTAS = 'exists (select from stats_deltas)';

const SUMS_OF_PROVIDER = PROVIDER_COUNTERS.map((_, place) => `sum((counts ->> ${place})::int)`).join(', ');
const FOLD_DELTAS = `
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
      sum(excused) as excused,
      count(*) as deltas
    from taken
    group by organization_id, mode, domain_id, hour
    order by organization_id, mode, domain_id, hour
  ), folded as (
    insert into stats_hourly as s (
      organization_id, mode, domain_id, hour,
      emails, accepted, sent, delivered, bounced, failed, deferred, complaints, unsubscribes, opens, clicks, excused
    )
    select
      organization_id, mode, domain_id, hour,
      emails, accepted, sent, delivered, bounced, failed, deferred, complaints, unsubscribes, opens, clicks, excused
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
      clicks = s.clicks + excluded.clicks,
      excused = s.excused + excluded.excused
    returning 1
  ), by_provider as (
    insert into stats_providers as p (
      organization_id, mode, domain_id, hour, provider, accepted, delivered, deferred, bounced, excused, complaints
    )
    select organization_id, mode, domain_id, hour, provider, ${SUMS_OF_PROVIDER}
    from taken cross join lateral jsonb_each(by_provider) as p (provider, counts)
    where by_provider is not null
    group by organization_id, mode, domain_id, hour, provider
    order by organization_id, mode, domain_id, hour, provider
    on conflict (organization_id, mode, domain_id, hour, provider) do update set
      accepted = p.accepted + excluded.accepted,
      delivered = p.delivered + excluded.delivered,
      deferred = p.deferred + excluded.deferred,
      bounced = p.bounced + excluded.bounced,
      excused = p.excused + excluded.excused,
      complaints = p.complaints + excluded.complaints
    returning 1
  )
  select
    coalesce(sum(deltas), 0)::int as folded,
    coalesce(sum(accepted) filter (where mode = 'live'), 0)::int as accepted,
    coalesce(sum(delivered) filter (where mode = 'live'), 0)::int as delivered,
    coalesce(sum(deferred) filter (where mode = 'live'), 0)::int as deferred,
    coalesce(sum(bounced) filter (where mode = 'live'), 0)::int as bounced
  from summed`;

/** Returns one row: the number of folded deltas and the sums of their live mail. @param limit deltas at most */
export function foldDeltas(limit: number): Statement<{ folded: number } & SentAmounts> {
  return { name: 'fold-stat-deltas', text: FOLD_DELTAS, values: [limit] };
}

// Removes deleted emails from the hours by which lists count; the other counters stay.
// Writes: stats_hourly (index stats_hourly_by_hour), stats_deltas (stats_deltas_by_hour; folded long ago, as a rule).
// Locks: those rows. Rows: 24 a day and domain of some organizations.
// Not the ORM: two tables at once. Both modes: retention is the same for them.
const REMOVE_EMAILS = `
  with owners as materialized (
    select organization_id, mode
    from unnest($1::uuid[]) as o (organization_id) cross join (values ('live'), ('test')) as m (mode)
  ), appended as (
    update stats_deltas s set emails = 0
    from owners o
    where s.organization_id = o.organization_id and s.mode = o.mode and s.hour >= $2 and s.hour < $3 and s.emails > 0
  )
  update stats_hourly s set emails = 0
  from owners o
  where s.organization_id = o.organization_id and s.mode = o.mode and s.hour >= $2 and s.hour < $3 and s.emails > 0`;

/** @param period whole hours of the emails' ids */
export function removeEmails(organizationIds: readonly string[], { from, to }: Period): Statement<never> {
  return { name: 'forget-emails', text: REMOVE_EMAILS, values: [organizationIds, from, to] };
}

// Rates of the whole installation per minute, for the operator's overview.

// Records the sums of one run of the fold.
// Writes: sending_rates (insert only, so that no two workers wait for one row). Locks: none beyond the new row. Rows: one.
const RECORD_RATES = `
  insert into sending_rates (accepted, delivered, deferred, bounced) values ($1, $2, $3, $4)`;

/** @param amounts recipients of live mail, as `foldDeltas` returns them */
export function recordRates({ accepted, delivered, deferred, bounced }: SentAmounts): Statement<never> {
  return { name: 'note-sending-rates', text: RECORD_RATES, values: [accepted, delivered, deferred, bounced] };
}

// Averages the last $1 minutes, per minute.
// Reads: sending_rates (index sending_rates_at). Locks: none. Rows: one for each run of the fold, every 2 s in each worker.
// Not the ORM: sums.
const READ_RATES = `
  select
    coalesce(sum(accepted), 0)::float8 / $1::int as accepted,
    coalesce(sum(delivered), 0)::float8 / $1::int as delivered,
    coalesce(sum(deferred), 0)::float8 / $1::int as deferred,
    coalesce(sum(bounced), 0)::float8 / $1::int as bounced
  from sending_rates
  where at > now() - make_interval(mins => $1::int)`;

/** Returns one row: averages per minute, of recipients of live mail. */
export function readRates(minutes: number): Statement<SentAmounts> {
  return { name: 'read-sending-rates', text: READ_RATES, values: [minutes] };
}

// Deletes rates older than an hour.
// Writes: sending_rates (index sending_rates_at). Locks: the rows. Rows: up to some thousands.
// Not the ORM: the server's clock.
const DELETE_OLD_RATES = `
  with gone as (delete from sending_rates where at < now() - interval '1 hour' returning 1)
  select count(*)::int as removed from gone`;

/** Returns one row with the number of deleted rates. */
export function deleteOldRates(): Statement<{ removed: number }> {
  return { name: 'forget-sending-rates', text: DELETE_OLD_RATES, values: [] };
}
