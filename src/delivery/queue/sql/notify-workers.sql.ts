// Wakes idle workers. Outside any transaction on purpose: a notifying commit takes a lock that orders all such commits.
// Tables: none. Locks: the notification queue's. Rows: none.
import type { Statement } from '../../../database/statement';

const TEXT = `select pg_notify('waybill_work', '')`;

export function notifyWorkers(): Statement<never> {
  return { name: 'notify-workers', text: TEXT, values: [] };
}
