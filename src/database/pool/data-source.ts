import 'reflect-metadata';
import * as pg from 'pg';
import type { Pool, PoolClient } from 'pg';
import { DataSource, type DataSourceOptions, type EntityManager, type EntitySchema } from 'typeorm';
import { DriverClient } from '../statements/driver-client';
import { MIGRATIONS } from '../schema/migrations';
import { MIGRATIONS_TABLE } from '../schema/schema-state';
import type { Statement } from '../statements/statement';
import { PatientPool } from './patient-pool';

type PostgresOptions = Extract<DataSourceOptions, { type: 'postgres' }>;
type EntityClass = new () => object;

export interface DataSourceSettings {
  readonly poolSize?: number;
  readonly applicationName?: string;
  /** How long somebody waits for a connection, from the pool or of the server; by default `CONNECT_TIMEOUT_MS`. */
  readonly connectTimeoutMs?: number | undefined;
  /** Features register theirs through their modules; migrations need none. */
  readonly entities?: (EntityClass | EntitySchema | string)[];
  /** For migrations: statements may take as long as they need. */
  readonly withoutTimeLimits?: boolean;
  /** Called for errors of idle connections; without a listener the process would die with the database. */
  readonly onPoolError?: (error: Error) => void;
}

/** Connections of a pool for which nothing else is said. */
export const DEFAULT_POOL_SIZE = 8;

/** Beside the limits of `DriverClient`: a stopped server cannot enforce its own, so the client has one too. */
const QUERY_TIMEOUT_MS = 10_000;

/** Requests are refused then. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Of what a person waits for: commands and migrations, which are needed most when the server is overloaded. */
export const COMMAND_CONNECT_TIMEOUT_MS = 15_000;

/** For a session whose statements may take long: lifts the limits that an administrator has given to the role or the database. */
export const LIFT_TIME_LIMITS = `
  select set_config(name, '0', false) from pg_settings
  where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/**
 * The caller listens to a connection's errors only a moment after it is open; a server that stops in that moment would end the
 * process. Every statement on it fails by itself.
 */
const ignoreErrors = (connection: PoolClient): void => void connection.on('error', () => undefined);

async function openWithoutLimits(connection: PoolClient): Promise<void> {
  ignoreErrors(connection);
  await connection.query(LIFT_TIME_LIMITS);
}

const DRIVER = { ...pg, Pool: PatientPool };

const CONNECTION = {
  Client: DriverClient,
  keepAlive: true,
  // Statements that do not need each other's results go out together instead of waiting for each answer in turn.
  pipeline: true,
};

/**
 * How hot statements are planned. Every join of theirs is a batch with its rows by primary key. Planned while a table is empty,
 * a cached plan would scan or hash the whole table and keep doing so as it grows; the nested loop over the index is right at
 * every size. Part of each transaction, since poolers drop the options of a connection.
 */
const PLANNED_BY_INDEX = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']
  .map((setting) => `set local ${setting} = off`)
  .join('; ');

const PLANNED_ONCE = 'set local plan_cache_mode = force_generic_plan';

/** How the statements of a transaction are planned: as of `Statement`. */
type Planning = 'by index' | 'by index, once' | 'scan';

const PLANNING: Readonly<Record<Planning, string>> = {
  'by index': PLANNED_BY_INDEX,
  'by index, once': `${PLANNED_BY_INDEX}; ${PLANNED_ONCE}`,
  // Pages in their order: all of the table, or those that a bitmap of an index names.
  scan: 'set local enable_indexscan = off; set local jit = off',
};

/** How a transaction of these statements is planned. */
export function planningOf(statements: readonly Statement<unknown>[]): Planning {
  if (statements.every(({ isScan }) => isScan)) return 'scan';
  return statements.every(({ isPlannedOnce }) => isPlannedOnce) ? 'by index, once' : 'by index';
}

/**
 * Begins a transaction of hot statements.
 *
 * @param restriction puts it into a tenant scope
 */
export function beginWith(options = '', restriction?: string, planning: Planning = 'by index'): string {
  const begin = `begin ${options}; ${PLANNING[planning]}`;
  return restriction === undefined ? begin : `${begin}; ${restriction}`;
}

/** TypeORM options for a Postgres 14+ at `url`. */
export function dataSourceOptions(url: string, settings: DataSourceSettings = {}): PostgresOptions {
  return {
    type: 'postgres',
    driver: DRIVER,
    url,
    entities: settings.entities ?? [],
    migrations: MIGRATIONS,
    migrationsTableName: MIGRATIONS_TABLE,
    migrationsTransactionMode: 'each',
    poolSize: settings.poolSize ?? DEFAULT_POOL_SIZE,
    applicationName: settings.applicationName ?? 'waybill',
    poolErrorHandler: settings.onPoolError ?? (() => undefined),
    // TypeORM's own logger writes to standard output, which is JSON lines only.
    logger: 'debug',
    extra: {
      ...CONNECTION,
      ...(!settings.withoutTimeLimits && { query_timeout: QUERY_TIMEOUT_MS }),
      onConnect: settings.withoutTimeLimits ? openWithoutLimits : ignoreErrors,
      connectionTimeoutMillis: settings.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    },
  };
}

/** TypeORM's data source, not yet connected. */
export function createDataSource(url: string, settings: DataSourceSettings = {}): DataSource {
  return new DataSource(dataSourceOptions(url, settings));
}

/** The driver's own pool, for prepared statements. */
export function poolOf(dataSource: DataSource): Pool {
  return (dataSource.driver as unknown as { master: Pool }).master;
}

/** TypeORM on a connection of that pool which is in a transaction; it neither begins, ends nor releases anything itself. */
export function managerOn(connection: PoolClient, dataSource: DataSource): EntityManager {
  const runner = dataSource.createQueryRunner();
  return Object.assign(runner, { databaseConnection: connection, isTransactionActive: true, transactionDepth: 1 })
    .manager;
}
