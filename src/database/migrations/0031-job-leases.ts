// Old code still runs against it: it only adds a table.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: database. */
export class JobLeases1700000000031 extends ForwardOnlyMigration {
  readonly name = 'JobLeases1700000000031';

  protected readonly sql = `
    create table job_leases (
      job text primary key,
      holder uuid not null,
      held_until timestamptz not null
    );
    ${commentOn('job_leases', 'a minute', {
      job: 'none: the background job',
      holder: 'none: the process that runs it',
      held_until: 'none: when another process may take over',
    })}
  `;
}
