// Old code still runs against it: it only adds a table.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: database. */
export class BackfillRuns1700000000045 extends ForwardOnlyMigration {
  readonly name = 'BackfillRuns1700000000045';

  protected readonly sql = `
    create table backfill_runs (
      name text primary key,
      position text not null,
      total bigint not null,
      examined bigint not null,
      changed bigint not null,
      started_at timestamptz not null,
      updated_at timestamptz not null,
      finished_at timestamptz
    );
    ${commentOn('backfill_runs', 'as long as the installation', {
      name: 'none: the backfill',
      position: 'none: ids of the row from which it goes on',
      total: 'none: about how many rows it examines',
      examined: 'none: how many it has examined',
      changed: 'none: how many it has changed',
      started_at: 'none: when it began',
      updated_at: 'none: when it last came on',
      finished_at: 'none: when it was done',
    })}
  `;
}
