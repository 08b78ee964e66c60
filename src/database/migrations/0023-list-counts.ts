// Old code still runs against it: it only adds an index.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: stats. */
export class ListCounts1700000000023 extends ForwardOnlyMigration {
  readonly name = 'ListCounts1700000000023';

  protected readonly sql = `
    -- A list of all domains finds its pages by these. An hour's row keeps its hour, so that counting stays a HOT update.
    create index stats_hourly_by_hour on stats_hourly (organization_id, mode, hour);
    create index stats_deltas_by_hour on stats_deltas (organization_id, mode, hour);
  `;
}
