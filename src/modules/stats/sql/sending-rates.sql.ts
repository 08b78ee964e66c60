// How much mail the installation takes and delivers by the minute: for the operator's overview.
import type { Statement } from '../../../database/statement';
import type { SentAmounts } from '../stat-delta';

// Notes what a run of the fold has counted.
// Writes: sending_rates (insert only, so that no two workers wait for one row). Locks: none beyond the new row. Rows: one.
const NOTE = `
  insert into sending_rates (accepted, delivered, deferred, bounced) values ($1, $2, $3, $4)`;

export function noteAmounts({ accepted, delivered, deferred, bounced }: SentAmounts): Statement<never> {
  return { name: 'note-sending-rates', text: NOTE, values: [accepted, delivered, deferred, bounced] };
}

// What has been counted within the last minutes, by the minute.
// Reads: sending_rates (index sending_rates_at). Locks: none. Rows: one for each run of the fold, every 2 s in each worker.
// Not the ORM: sums.
const READ = `
  select
    coalesce(sum(accepted), 0)::float8 / $1::int as accepted,
    coalesce(sum(delivered), 0)::float8 / $1::int as delivered,
    coalesce(sum(deferred), 0)::float8 / $1::int as deferred,
    coalesce(sum(bounced), 0)::float8 / $1::int as bounced
  from sending_rates
  where at > now() - make_interval(mins => $1::int)`;

export function readRates(minutes: number): Statement<SentAmounts> {
  return { name: 'read-sending-rates', text: READ, values: [minutes] };
}

// Removes what is older than an hour.
// Writes: sending_rates (index sending_rates_at). Locks: the rows. Rows: up to some thousands.
// Not the ORM: the server's clock.
const FORGET = `
  with gone as (delete from sending_rates where at < now() - interval '1 hour' returning 1)
  select count(*)::int as removed from gone`;

export function forgetRates(): Statement<{ removed: number }> {
  return { name: 'forget-sending-rates', text: FORGET, values: [] };
}
