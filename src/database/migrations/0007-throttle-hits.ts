// Old code still runs against it: it only adds a table.
import { ForwardOnlyMigration } from './forward-only';

/**
 * Owner: throttling. Unlogged: the counters of the current windows may be lost with a crash of the database, and writing
 * them to the log would cost more than they are worth.
 */
export class ThrottleHits1700000000007 extends ForwardOnlyMigration {
  readonly name = 'ThrottleHits1700000000007';

  protected readonly sql = `
    create unlogged table throttle_hits (
      key text not null,
      window_start timestamptz not null,
      hits bigint not null,
      expires_at timestamptz not null,
      primary key (key, window_start)
    ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
    create index throttle_hits_expired on throttle_hits (expires_at);
  `;
}
