// Makes this transaction the one that changes partitions, or answers that another one does.
// Reads: nothing. Locks: the advisory lock of create_month_partitions, until the end of the transaction. Rows: one.
// Not the ORM: advisory locks.
import type { Statement } from '../../../../database/statement';

const TEXT = `select pg_try_advisory_xact_lock(hashtext('create_month_partitions')) as "isOurs"`;

export function lockPartitions(): Statement<{ isOurs: boolean }> {
  return { name: 'lock-partitions', text: TEXT, values: [] };
}
