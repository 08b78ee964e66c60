// Makes the partitions of the coming months; what exists is left alone.
// Writes: the catalogue. Locks: an advisory lock, and briefly each parent. Rows: none.
// Not the ORM: a procedure of the schema.
import type { Statement } from '../../../database/statement';

const TEXT = `call create_month_partitions($1, $2)`;

export function createPartitions(parent: string, monthsAhead: number): Statement<never> {
  return { name: 'create-partitions', text: TEXT, values: [parent, monthsAhead] };
}
