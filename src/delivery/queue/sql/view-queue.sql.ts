import type { Statement } from '../../../database/statements/statement';

// The queue of every organization, for operators, health and metrics. Nothing here is hot.

export const QUEUE_GROUPS = ['organization', 'destination', 'state'] as const;

export type QueueGroup = (typeof QUEUE_GROUPS)[number];

/** Open deliveries with something in common. */
export interface QueueShare {
  key: string;
  ready: number;
  waiting: number;
  claimed: number;
  held: number;
  /** Age of the earliest first due time. */
  oldestSeconds: number;
}

const COLUMN: Readonly<Record<QueueGroup, string>> = {
  organization: 'organization_id',
  destination: 'destination',
  state: 'state',
};

// Counts the queue by one of its columns, the largest shares first.
// Reads: deliveries (whole, but it holds open work only: 0.2 s for a million). Locks: none. Rows: up to $1.
// Not the ORM: aggregates with filters.
const countBy = (group: QueueGroup): string => `
  select
    ${COLUMN[group]}::text as key,
    count(*) filter (where state = 'ready')::int as ready,
    count(*) filter (where state = 'waiting')::int as waiting,
    count(*) filter (where state = 'claimed')::int as claimed,
    count(*) filter (where state = 'held')::int as held,
    greatest(0, extract(epoch from now() - min(first_due_at)))::int as "oldestSeconds"
  from deliveries
  group by ${COLUMN[group]}
  order by count(*) desc, 1
  limit $1`;

/** Counts open deliveries by a column; the groups with most deliveries come first. @param limit number of groups */
export function countQueueBy(group: QueueGroup, limit: number): Statement<QueueShare> {
  return { name: `count-queue-by-${group}`, text: countBy(group), values: [limit], isScan: true };
}

// How much work is open, and the age of the oldest delivery that could start: for health and metrics, in every process.
export interface QueueMeasure {
  /** Those that are held back among them. */
  ready: number;
  waiting: number;
  claimed: number;
  held: number;
  /** Ready, for a destination that is held back: more workers would not start them. */
  heldBack: number;
  /** Of those that are ready and not held back. */
  oldestReadySeconds: number;
  workers: number;
  /** Open deliveries by organization, of those that have as many as they may, or more. */
  crowding: Readonly<Record<string, number>>;
}

const COLUMNS = `
    m.ready,
    m.waiting,
    m.claimed,
    m.held,
    m.held_back as "heldBack",
    coalesce(extract(epoch from clock_timestamp() - m.oldest_ready_at), 0)::float8 as "oldestReadySeconds",
    m.crowding,
    (select count(*)::int from worker_sessions where lease_until > clock_timestamp()) as workers`;

// Counts the queue, for all processes.
// Reads: deliveries (whole, but it holds open work only), worker_sessions, destination_reports (primary key: the domains of the groups
// $2, of a very large group some of them). Writes: queue_measures. Locks: its row, at the end. Rows: one.
// Not the ORM: aggregates with filters. Some 200 ms for a million open deliveries, 1.3 times a count without the organizations, therefore run
// by one process at a time.
const MEASURE = `
  with held_back as materialized (
    select distinct unnest(domains) as destination from destination_reports where key = any ($2::text[])
  ),
  shares as materialized (
    select organization_id, state, state = 'ready' and destination in (select destination from held_back) as is_held_back,
      count(*) as open, min(due_at) as oldest_at
    from deliveries
    group by 1, 2, 3
  ),
  crowding as materialized (
    select organization_id, sum(open) as open from shares group by organization_id having sum(open) >= nullif($1::int, 0)
  ),
  counted as materialized (
    select
      coalesce(sum(open) filter (where state = 'ready'), 0)::int as ready,
      coalesce(sum(open) filter (where state = 'waiting'), 0)::int as waiting,
      coalesce(sum(open) filter (where state = 'claimed'), 0)::int as claimed,
      coalesce(sum(open) filter (where state = 'held'), 0)::int as held,
      coalesce(sum(open) filter (where is_held_back), 0)::int as held_back,
      min(oldest_at) filter (where state = 'ready' and not is_held_back) as oldest_ready_at,
      (select coalesce(jsonb_object_agg(organization_id, open), '{}') from crowding) as crowding
    from shares
  )
  update queue_measures m
  set ready = c.ready, waiting = c.waiting, claimed = c.claimed, held = c.held, held_back = c.held_back,
    oldest_ready_at = c.oldest_ready_at, crowding = c.crowding, measured_at = clock_timestamp(), took = clock_timestamp() - statement_timestamp()
  from counted c
  where m.id = 1
  returning ${COLUMNS}`;

/**
 * Counts the whole queue and stores the result for all processes.
 * @param limit how many open deliveries an organization may have; 0: no limit
 * @param heldBack the keys of the groups of destinations that are held back
 */
export function measureQueue(limit: number, heldBack: readonly string[]): Statement<QueueMeasure> {
  return { name: 'measure-queue', text: MEASURE, values: [limit, heldBack], isScan: true };
}

// The last count, and whether it is the caller's turn to count again: it is older than two seconds and than fifty times what
// counting took, and no other process has begun within ten seconds. What lies ahead was written before the database's clock was set back.
// Reads: queue_measures, worker_sessions. Writes: queue_measures when it is the caller's turn. Locks: its row then. Rows: one.
// Not the ORM: a compare-and-set by the database's clock.
const LAST = `
  with turn as (
    update queue_measures
    set begun_at = clock_timestamp()
    where id = 1
      and (measured_at < clock_timestamp() - greatest(interval '2 seconds', 50 * took)
        or measured_at > clock_timestamp() + interval '1 second')
      and (begun_at < greatest(measured_at, clock_timestamp() - interval '10 seconds')
        or begun_at > clock_timestamp() + interval '1 second')
    returning id
  )
  select exists (select from turn) as "isDue",
    ${COLUMNS}
  from queue_measures m
  where m.id = 1`;

/** Returns the stored count, and whether the caller has to measure again. */
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

/** One row: dead rows of the queue's table, and its size with indexes in bytes. */
export function measureBloat(): Statement<QueueBloat> {
  return { name: 'measure-queue-bloat', text: MEASURE_BLOAT, values: [] };
}
