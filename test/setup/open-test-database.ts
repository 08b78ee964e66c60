import type { DataSource } from 'typeorm';
import { createDataSource, type DataSourceSettings } from '../../src/database/pool/data-source';
import { Database } from '../../src/database/pool/database.service';
import type { Statement } from '../../src/database/statements/statement';
import { createTestDatabase } from './test-database';
import { WAIT_LIMIT_MS } from './wait-for';

export interface OpenTestDatabase {
  readonly url: string;
  readonly dataSource: DataSource;
  /** The statement runner of the product, on a pool with the product's connection settings but for limits of time. */
  readonly database: Database;
  /** Rows of any query, for set-up and assertions; values as `$1`, `$2`, … */
  query<Row = Record<string, any>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Closes the pool and removes the database. */
  drop(): Promise<void>;
}

/** A fresh migrated database with an open pool: for specs of statements and repositories that need no Nest. */
export async function openTestDatabase(settings: DataSourceSettings = {}): Promise<OpenTestDatabase> {
  const { url, drop } = await createTestDatabase();
  const patient = { withoutTimeLimits: true, connectTimeoutMs: WAIT_LIMIT_MS };
  const dataSource = await createDataSource(url, { ...patient, ...settings }).initialize();
  return {
    url,
    dataSource,
    database: new Database(dataSource),
    query: (text, values) => dataSource.query(text, values),
    drop: async () => {
      await dataSource.destroy();
      await drop();
    },
  };
}

/** A test's own statement, not prepared under a name. */
export function statement<Row>(text: string, values: unknown[] = []): Statement<Row> {
  return { name: '', text, values };
}
