import type { Statement } from './statement';

// Makes additions to a list follow one another, so that their number can be limited.
// Takes no table: an advisory lock until the end of the transaction. Lists whose hashes meet merely wait for each other. Rows: 1.
// Not the ORM: it has no advisory locks, and row locks cannot hold back a first entry.
const LOCK = 'select pg_advisory_xact_lock(hashtextextended($1, 0))';

/** @param list what it holds, and of whom: `domains of …`; processes of all releases have to name it alike */
export function lockList(list: string): Statement<unknown> {
  return { name: 'lock-list', text: LOCK, values: [list] };
}
