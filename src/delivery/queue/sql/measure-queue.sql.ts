import type { Statement } from '../../../database/statement';

// How much work is open and how old the oldest due piece is: for health and metrics, in every process.
export interface QueueMeasure {
  ready: number;
  waiting: number;
  claimed: number;
  held: number;
  oldestReadySeconds: number;
  workers: number;
}

const COLUMNS = `
    m.ready,
    m.waiting,
    m.claimed,
    m.held,
    coalesce(extract(epoch from clock_timestamp() - m.oldest_ready_at), 0)::float8 as "oldestReadySeconds",
    (select count(*)::int from worker_sessions where lease_until > clock_timestamp()) as workers`;

// Counts the queue, for all processes.
// Reads: deliveries (whole, but it holds open work only), worker_sessions. Writes: queue_measures. Locks: its row, at the end.
// Rows: one.
// Not the ORM: aggregates with filters. 150–190 ms for a million open deliveries, therefore asked for by one process at a time.
const MEASURE = `
  with counted as materialized (
    select
      count(*) filter (where state = 'ready')::int as ready,
      count(*) filter (where state = 'waiting')::int as waiting,
      count(*) filter (where state = 'claimed')::int as claimed,
      count(*) filter (where state = 'held')::int as held,
      min(due_at) filter (where state = 'ready') as oldest_ready_at
    from deliveries
  )
  update queue_measures m
  set ready = c.ready, waiting = c.waiting, claimed = c.claimed, held = c.held, oldest_ready_at = c.oldest_ready_at,
    measured_at = clock_timestamp(), took = clock_timestamp() - statement_timestamp()
  from counted c
  where m.id = 1
  returning ${COLUMNS}`;

export function measureQueue(): Statement<QueueMeasure> {
  return { name: 'measure-queue', text: MEASURE, values: [] };
}

// The last count, and whether it is the caller's turn to count anew: it is older than two seconds and than fifty times what
// counting took, and no other process has begun within ten seconds.
// Reads: queue_measures, worker_sessions. Writes: queue_measures when it is the caller's turn. Locks: its row then. Rows: one.
// Not the ORM: a compare-and-set by the database's clock.
const LAST = `
  with turn as (
    update queue_measures
    set begun_at = clock_timestamp()
    where id = 1
      and measured_at < clock_timestamp() - greatest(interval '2 seconds', 50 * took)
      and begun_at < greatest(measured_at, clock_timestamp() - interval '10 seconds')
    returning id
  )
  select exists (select from turn) as "isDue",
    ${COLUMNS}
  from queue_measures m
  where m.id = 1`;

export function lastMeasure(): Statement<QueueMeasure & { isDue: boolean }> {
  return { name: 'last-queue-measure', text: LAST, values: [] };
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
