// Old code still runs against it: it only adds a table.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: emails. */
export class StatsChecks1700000000022 extends ForwardOnlyMigration {
  readonly name = 'StatsChecks1700000000022';

  protected readonly sql = `
    -- Days whose counters have been compared with the events: one process does it, and all can tell what came out.
    create table stats_checks (
      -- In UTC.
      day date primary key,
      claimed_at timestamptz not null,
      finished_at timestamptz,
      -- Counters that differed.
      drift integer
    );
  `;
}
