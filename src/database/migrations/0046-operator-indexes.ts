// Old code still runs against it: it only changes indexes, to ones that its queries are answered by as well.
import { BuildIndexesMigration } from './forward-only';

/** Owners: audit (what was done in any organization, newest first), delivery (what ends by its time, also while it is held). */
export class OperatorIndexes1700000000046 extends BuildIndexesMigration {
  readonly name = 'OperatorIndexes1700000000046';

  protected readonly indexes = [
    { name: 'audit_log_newest', table: 'audit_log', definition: '(id)' },
    {
      name: 'deliveries_first_due',
      table: 'deliveries',
      definition: `(first_due_at) where state in ('waiting', 'ready', 'held')`,
      replaces: true,
    },
    {
      name: 'deliveries_expiring',
      table: 'deliveries',
      definition: `(expires_at) where state in ('waiting', 'ready', 'held') and expires_at is not null`,
      replaces: true,
    },
  ];
}
