import type { Statement } from '../../../database/statement';

// How much work is open and how old the oldest due piece is: for health and metrics.
// Reads: deliveries (whole, but it holds open work only), worker_sessions. Locks: none. Rows: one.
// Not the ORM: aggregates with filters. Asked for every few seconds at most.
export interface QueueMeasure {
  ready: number;
  waiting: number;
  claimed: number;
  oldestReadySeconds: number;
  workers: number;
}

const MEASURE = `
  select
    count(*) filter (where state = 'ready')::int as ready,
    count(*) filter (where state = 'waiting')::int as waiting,
    count(*) filter (where state = 'claimed')::int as claimed,
    coalesce(extract(epoch from now() - min(due_at) filter (where state = 'ready')), 0)::float8 as "oldestReadySeconds",
    (select count(*)::int from worker_sessions where lease_until > now()) as workers
  from deliveries`;

export function measureQueue(): Statement<QueueMeasure> {
  return { name: 'measure-queue', text: MEASURE, values: [] };
}

// How many dead rows the queue's table holds, and how large it is with its indexes.
// Reads: the counters of the statistics system and file sizes, no rows. Locks: none. Rows: one.
// Not the ORM: functions of the server.
export interface QueueBloat {
  readonly deadRows: number;
  readonly bytes: number;
}

const MEASURE_BLOAT = `
  select pg_stat_get_dead_tuples(oid)::float8 as "deadRows", pg_total_relation_size(oid)::float8 as bytes
  from (select 'deliveries'::regclass::oid as oid) queue`;

export function measureBloat(): Statement<QueueBloat> {
  return { name: 'measure-queue-bloat', text: MEASURE_BLOAT, values: [] };
}
