import { randomInt } from 'node:crypto';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { PoolClient } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { CommitUnknownError } from '../../common/errors/app-error';
import { beginWith, managerOn, planningOf, poolOf } from './data-source';
import {
  isRetryable,
  isUnavailable,
  translateCommitError,
  translateDatabaseError,
} from '../statements/database-errors';
import { arrayText } from '../statements/pg-array';
import type { RowSecurity } from '../statements/row-security';
import { type DatabaseConnection, endConnection, readActivity } from '../statements/activity';
import type { Statement } from '../statements/statement';
import { TenantDataSource } from './tenant-data-source';
import type { Transaction } from '../statements/transaction';

const MAX_ATTEMPTS = 5;
const MIN_PAUSE_MS = 10;
const MAX_PAUSE_MS = 50;
const SNAPSHOT = 'isolation level repeatable read, read only';

/** What the server reports about itself. */
export interface ServerFacts {
  /** As in `server_version_num`: 180004 for 18.4. */
  readonly versionNumber: number;
  readonly version: string;
  /** A standby, or closed to changes by a setting. */
  readonly isReadOnly: boolean;
  /** With the locale C, `lower` knows ASCII letters only. */
  readonly lowersAllLetters: boolean;
  /** Whether what is committed survives a crash of the server. */
  readonly isDurable: boolean;
  /** The server's clock. */
  readonly now: Date;
}

const SERVER_FACTS = `
  select
    current_setting('server_version_num')::int as "versionNumber",
    current_setting('server_version') as version,
    pg_is_in_recovery() or current_setting('default_transaction_read_only') = 'on' as "isReadOnly",
    lower('Σ') = 'σ' as "lowersAllLetters",
    current_setting('synchronous_commit') <> 'off' as "isDurable",
    clock_timestamp() as now`;

/**
 * The one place that executes hot statements. They go to the driver as named prepared statements on the pool that
 * TypeORM uses too, so one connection limit holds for both. A lost or stopping database surfaces as `UnavailableError`.
 */
@Injectable()
export class Database {
  /** Whether the rows of the large tables are on several nodes (docs/scaling.md); `Distribution` finds out. */
  isDistributed = false;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Runs one statement in a transaction of its own, in one round trip.
   * @param tenants whose rows it may touch; by default the caller's scope
   * @throws CommitUnknownError when the connection was lost meanwhile; UnavailableError when nothing is written
   */
  async run<Row>(statement: Statement<Row>, tenants?: readonly string[]): Promise<Row[]> {
    const [rows = []] = await this.runAll([statement], tenants);
    return rows;
  }

  /** Runs statements in one transaction, in one round trip; returns the rows of each. */
  async runAll<Row>(statements: readonly Statement<Row>[], tenants?: readonly string[]): Promise<Row[][]> {
    if (statements.length === 0) return [];
    const restriction = this.restriction(tenants);
    return repeated(() => this.inShare(() => this.attemptAll(statements, restriction), tenants));
  }

  /**
   * Runs `work` in one transaction and commits. A deadlock or a serialization failure runs it again (see `repeated`);
   * `work` must therefore have no effect outside the transaction.
   * @param tenants whose rows it may touch; by default the caller's scope
   * @throws CommitUnknownError when the connection was lost in the commit; UnavailableError when nothing is written
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>, tenants?: readonly string[]): Promise<T> {
    const restriction = this.restriction(tenants);
    return repeated(() => this.inShare(() => this.attempt(work, restriction), tenants));
  }

  /** Runs reads as of one moment: what another transaction commits is seen as a whole, or not at all. */
  async snapshot<T>(reads: (tx: Transaction) => Promise<T>): Promise<T> {
    try {
      const restriction = this.restriction();
      return await this.inShare(() => this.attempt(reads, restriction, SNAPSHOT));
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  /** Whether statements of requests are kept to their tenant by the database itself. */
  get rowSecurity(): RowSecurity {
    return this.dataSource instanceof TenantDataSource ? this.dataSource.rowSecurity : { state: 'off' };
  }

  async serverFacts(): Promise<ServerFacts> {
    const [facts] = await this.run<ServerFacts>({ name: 'read-server-facts', text: SERVER_FACTS, values: [] });
    return facts as ServerFacts;
  }

  /** Who is connected to the database, those with the oldest transactions first. */
  activity(): Promise<DatabaseConnection[]> {
    return this.run(readActivity());
  }

  /** Ends one of these connections. @returns false when there is none of that process id; fails without the right to do so */
  async endConnection(pid: number): Promise<boolean> {
    const [ended] = await this.run(endConnection(pid));
    return ended?.isEnded ?? false;
  }

  private async attemptAll<Row>(
    statements: readonly Statement<Row>[],
    restriction: string | undefined,
  ): Promise<Row[][]> {
    const connection = await poolOf(this.dataSource).connect();
    connection.on('error', ignore);
    let broken: Error | undefined;
    holdWrites(connection);
    const begun = connection.query(beginWith('', restriction, planningOf(statements)));
    const results = statements.map((statement) => connection.query<Row & object>(toQuery(statement, restriction)));
    const ended = connection.query('commit');
    try {
      // The first one to fail is the cause: those behind it are refused because of it.
      const found = await Promise.all([begun, ...results, ended]);
      return found.slice(1, -1).map(({ rows }) => rows as Row[]);
    } catch (error) {
      // Of a statement that fails the commit makes a rollback.
      await ended.catch((failure: Error) => (broken = failure));
      throw broken ? translateCommitError(error) : error;
    } finally {
      connection.off('error', ignore);
      connection.release(broken);
    }
  }

  private async attempt<T>(
    work: (tx: Transaction) => Promise<T>,
    restriction: string | undefined,
    options = '',
  ): Promise<T> {
    const connection = await poolOf(this.dataSource).connect();
    connection.on('error', ignore);
    const transaction = new OpenTransaction(connection, this.dataSource, restriction);
    let broken: Error | undefined;
    holdWrites(connection);
    try {
      // Goes out together with the first statement (a round trip less); it can only fail with its connection or its role.
      const begun = connection.query(beginWith(options, restriction));
      begun.catch(ignore);
      const result = await work(transaction);
      transaction.end();
      const [{ command }] = await Promise.all([commit(connection), begun]);
      // Postgres reports ROLLBACK here when a statement failed before: nothing has been written.
      if (command !== 'COMMIT') throw new Error('The transaction was rolled back at its commit');
      return result;
    } catch (error) {
      transaction.end();
      // A connection that cannot even roll back is of no more use; the first error is the cause.
      await connection.query('rollback').catch((failure: Error) => (broken = failure));
      const { failedWrite } = transaction;
      // A write whose response was lost with that of the commit says nothing about it.
      throw error instanceof CommitUnknownError && isUnavailable(failedWrite) ? error : (failedWrite ?? error);
    } finally {
      connection.off('error', ignore);
      connection.release(broken);
    }
  }

  /** In the share of the caller's organization, unless it names its tenants: what serves several, and what takes mail, waits for no share. */
  private inShare<T>(work: () => Promise<T>, tenants?: readonly string[]): Promise<T> {
    return tenants === undefined && this.dataSource instanceof TenantDataSource
      ? this.dataSource.inShare(work)
      : work();
  }

  /** Puts a transaction into a tenant scope. */
  private restriction(tenants?: readonly string[]): string | undefined {
    return this.dataSource instanceof TenantDataSource ? this.dataSource.restriction(tenants) : undefined;
  }
}

/**
 * Runs a transaction that Postgres has rolled back because of others (a deadlock, a serialization failure) again, five times
 * in all. It waits before that, holding nothing: a transaction that starts again at once can take the row for which the other
 * one has just been woken, and both end in the same deadlock.
 */
async function repeated<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isRetryable(error)) throw translateDatabaseError(error);
      await sleep(randomInt(MIN_PAUSE_MS, MAX_PAUSE_MS) * attempt);
    }
  }
}

async function commit(connection: PoolClient): Promise<{ command: string }> {
  try {
    return await connection.query('commit');
  } catch (error) {
    throw translateCommitError(error);
  }
}

/** A connection that is lost in the middle of a transaction also fails its next statement. */
const ignore = (): void => undefined;

/**
 * Under a name of its own where row-level security applies: of one name, Postgres would keep the plan of one role only, and
 * plan again whenever the other one comes.
 */
function toQuery({ name, text, values }: Statement<unknown>, restriction: string | undefined) {
  return {
    name: name === '' || restriction === undefined ? name : `${name}@tenant`,
    text,
    values: values.map((value) => (Array.isArray(value) ? (arrayText(value) ?? value) : value)),
  };
}

/** What is sent in one turn of the event loop goes out in one system call: a fifth of a small transaction's cost here. */
function holdWrites(connection: PoolClient): void {
  const { stream } = (connection as unknown as { connection: { stream: Writable } }).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

class OpenTransaction implements Transaction {
  private ormManager: EntityManager | undefined;
  private hasEnded = false;
  /** Why Postgres refuses whatever comes after it in this transaction. */
  failedWrite: Error | undefined;

  constructor(
    private readonly connection: PoolClient,
    private readonly dataSource: DataSource,
    private readonly restriction: string | undefined,
  ) {}

  async run<Row>(statement: Statement<Row>): Promise<Row[]> {
    this.assertOpen();
    return (await this.connection.query<Row & object>(toQuery(statement, this.restriction))).rows;
  }

  write(statement: Statement<unknown>): void {
    this.assertOpen();
    this.connection.query(toQuery(statement, this.restriction)).catch((error: Error) => (this.failedWrite ??= error));
  }

  /** Made when first asked for: most transactions are statements only, and a query runner costs more than one of them. */
  get manager(): EntityManager {
    this.assertOpen();
    return (this.ormManager ??= managerOn(this.connection, this.dataSource));
  }

  /** Its work is done: from now on its connection commits, and then serves others. */
  end(): void {
    this.hasEnded = true;
  }

  private assertOpen(): void {
    if (this.hasEnded) throw new Error('The transaction has ended');
  }
}

/** The address of this process's database, for connections apart from the pool. */
export class DatabaseUrl {
  /**
   * @param url where the pool connects
   * @param direct past any pooler, for what belongs to a session: notifications, locks, a worker's lease
   */
  constructor(
    readonly url: string,
    readonly direct = url,
  ) {}

  /** What the log calls the way past the pooler: operators set it by a variable of its own. */
  get directName(): string {
    return this.direct === this.url ? 'The database' : 'The database at DATABASE_DIRECT_URL';
  }
}
