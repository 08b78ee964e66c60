// How many dead rows the queue's table holds, and how large it is with its indexes.
// Reads: the counters of the statistics system and file sizes, no rows. Locks: none. Rows: one.
// Not the ORM: functions of the server.
import type { Statement } from '../../../database/statement';

export interface QueueBloat {
  readonly deadRows: number;
  readonly bytes: number;
}

const TEXT = `
  select pg_stat_get_dead_tuples(oid)::float8 as "deadRows", pg_total_relation_size(oid)::float8 as bytes
  from (select 'deliveries'::regclass::oid as oid) queue`;

export function measureBloat(): Statement<QueueBloat> {
  return { name: 'measure-queue-bloat', text: TEXT, values: [] };
}
