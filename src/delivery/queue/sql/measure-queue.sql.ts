// How much work is open and how old the oldest due piece is: for health and metrics.
// Reads: deliveries (whole, but it holds open work only), worker_sessions. Locks: none. Rows: one.
// Not the ORM: aggregates with filters. Asked for every few seconds at most.
import type { Statement } from '../../../database/statement';

export interface QueueMeasure {
  ready: number;
  waiting: number;
  claimed: number;
  oldestReadySeconds: number;
  workers: number;
}

const TEXT = `
  select
    count(*) filter (where state = 'ready')::int as ready,
    count(*) filter (where state = 'waiting')::int as waiting,
    count(*) filter (where state = 'claimed')::int as claimed,
    coalesce(extract(epoch from now() - min(due_at) filter (where state = 'ready')), 0)::float8 as "oldestReadySeconds",
    (select count(*)::int from worker_sessions where lease_until > now()) as workers
  from deliveries`;

export function measureQueue(): Statement<QueueMeasure> {
  return { name: 'measure-queue', text: TEXT, values: [] };
}
