// Old code still runs against it: it only adds columns with a default, which rewrites no row.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

const EXCUSED = {
  excused: 'none: bounces that say nothing of the sender, such as a listed address of this service',
} as const;

/** Owner: stats. */
export class ExcusedBounces1700000000032 extends ForwardOnlyMigration {
  readonly name = 'ExcusedBounces1700000000032';

  protected readonly sql = `
    alter table stats_hourly add column excused bigint not null default 0;
    alter table stats_deltas add column excused integer not null default 0;
    ${commentOn('stats_hourly', 'as long as the organization: counters of nobody in particular', EXCUSED)}
    ${commentOn('stats_deltas', 'seconds, until they are folded into stats_hourly', EXCUSED)}
  `;
}
