import 'reflect-metadata';
import type { Pool } from 'pg';
import { DataSource, type DataSourceOptions, type EntitySchema } from 'typeorm';
import { MIGRATIONS } from './migrations';

type PostgresOptions = Extract<DataSourceOptions, { type: 'postgres' }>;
type EntityClass = new () => object;

export interface DataSourceSettings {
  readonly poolSize?: number;
  readonly applicationName?: string;
  /** Features register theirs through their modules; migrations need none. */
  readonly entities?: (EntityClass | EntitySchema)[];
  /** Called for errors of idle connections; without a listener the process would die with the database. */
  readonly onPoolError?: (error: Error) => void;
}

/** Limits of every connection (reliability: a stopped server cannot enforce its own timeouts, so the client does too). */
const CONNECTION = {
  connectionTimeoutMillis: 2_000,
  query_timeout: 10_000,
  statement_timeout: 8_000,
  lock_timeout: 4_000,
  idle_in_transaction_session_timeout: 10_000,
  keepAlive: true,
  // Every join here is a batch with its rows by primary key. Planned while a table is empty, a cached plan would scan or
  // hash the whole table and keep doing so as it grows; the nested loop over the index is right at every size.
  options: '-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off',
};

/** TypeORM options for a Postgres 14+ at `url`. */
export function dataSourceOptions(url: string, settings: DataSourceSettings = {}): PostgresOptions {
  return {
    type: 'postgres',
    url,
    entities: settings.entities ?? [],
    migrations: MIGRATIONS,
    migrationsTableName: 'schema_migrations',
    migrationsTransactionMode: 'each',
    poolSize: settings.poolSize ?? 10,
    applicationName: settings.applicationName ?? 'waybill',
    poolErrorHandler: settings.onPoolError ?? (() => undefined),
    extra: CONNECTION,
  };
}

export function createDataSource(url: string, settings: DataSourceSettings = {}): DataSource {
  return new DataSource(dataSourceOptions(url, settings));
}

/** The driver's own pool, for prepared statements. */
export function poolOf(dataSource: DataSource): Pool {
  return (dataSource.driver as unknown as { master: Pool }).master;
}
