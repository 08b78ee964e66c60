import { Injectable } from '@nestjs/common';
import { MINUTE } from '../../common/clock';
import { LIFT_TIME_LIMITS } from './data-source';
import { translateDatabaseError } from '../statements/database-errors';
import { Database, DatabaseUrl } from './database.service';
import { DriverClient } from '../statements/driver-client';
import type { Statement } from '../statements/statement';

// Finds a table with personal data whose statistics for the planner are older than a moment, or of unknown age. Partitions by
// themselves; the table that they make up, first, if it has statistics of its own, which autovacuum never renews.
// Reads: the catalogue and the server's counters. Locks: none. Rows: one.
// Not the ORM: tables of the server's.
const FIND_OLDER = `
  select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join pg_stat_all_tables s on s.relid = c.oid
  where c.relkind in ('r', 'p') and n.nspname = current_schema() and c.reltuples >= 0
    and coalesce(greatest(s.last_analyze, s.last_autoanalyze), '-infinity') < $1
    and coalesce(pg_partition_root(c.oid), c.oid) in (
      select d.objoid
      from pg_description d
      where d.classoid = 'pg_class'::regclass and d.description ~ '^pii: (address|name|content|activity|ip|text);'
    )
    and not format('%I.%I', n.nspname, c.relname) = any ($2)
  order by c.relkind, c.oid
  limit 1`;

const CONNECT_TIMEOUT_MS = 2_000;
/** Far more than the samples of the largest table take; a server that is silent for so long has gone without a word. */
const ANALYZE_TIMEOUT_MS = 10 * MINUTE;

function findOlder(moment: Date, except: readonly string[]): Statement<{ readonly name: string }> {
  return { name: 'find-older-statistics', text: FIND_OLDER, values: [moment, except] };
}

/**
 * What the planner knows of the values of columns. Postgres keeps samples of them, so values that are erased stay in
 * `pg_statistic` until the table is analyzed again: for a month that no longer changes, as long as it is kept.
 */
@Injectable()
export class PlannerStatistics {
  /** Milliseconds. */
  analyzeTimeoutMs = ANALYZE_TIMEOUT_MS;

  constructor(
    private readonly database: Database,
    private readonly address: DatabaseUrl,
  ) {}

  /** Takes new samples of the tables with personal data whose samples are older than `moment`; returns their names. */
  async renewOlderThan(moment: Date, signal?: AbortSignal): Promise<string[]> {
    const renewed: string[] = [];
    while (!signal?.aborted) {
      const [table] = await this.database.run(findOlder(moment, renewed));
      if (!table) break;
      await this.renew(table.name, signal);
      // Once in a run, also where the role may not analyze the table, which is only a warning.
      renewed.push(table.name);
    }
    return renewed;
  }

  /** On a connection of its own: of the pool's, statements end after seconds. */
  private async renew(table: string, signal?: AbortSignal): Promise<void> {
    const client = new DriverClient({
      connectionString: this.address.direct,
      application_name: 'waybill-statistics',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: this.analyzeTimeoutMs,
      keepAlive: true,
    });
    client.on('error', () => undefined);
    const end = () => void client.leave();
    signal?.addEventListener('abort', end, { once: true });
    try {
      await client.connect();
      await client.query(LIFT_TIME_LIMITS);
      await client.query(`analyze ${table}`);
    } catch (error) {
      if (!signal?.aborted) throw translateDatabaseError(error, this.address.directName);
    } finally {
      signal?.removeEventListener('abort', end);
      await client.leave();
    }
  }
}
