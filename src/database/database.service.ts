import { Injectable } from '@nestjs/common';
import type { PoolClient } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { managerOn, poolOf } from './data-source';
import { isRetryable, translateDatabaseError } from './database-errors';
import type { Statement } from './statement';
import type { Transaction } from './transaction';

const MAX_ATTEMPTS = 3;

/**
 * The one place that executes hot statements. They go to the driver as named prepared statements on the pool that
 * TypeORM uses too, so one connection limit holds for both. A lost or stopping database surfaces as `UnavailableError`.
 */
@Injectable()
export class Database {
  constructor(private readonly dataSource: DataSource) {}

  /** Runs one statement by itself (its own implicit transaction). */
  async run<Row>(statement: Statement<Row>): Promise<Row[]> {
    try {
      const result = await poolOf(this.dataSource).query<Row & object>(statement);
      return result.rows;
    } catch (error) {
      throw translateDatabaseError(error);
    }
  }

  /**
   * Runs `work` in one transaction and commits. A deadlock or a serialization failure runs it again, at most three times
   * in all; `work` must therefore have no effect outside the transaction.
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(work);
      } catch (error) {
        if (attempt < MAX_ATTEMPTS && isRetryable(error)) continue;
        throw translateDatabaseError(error);
      }
    }
  }

  private async attempt<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const connection = await poolOf(this.dataSource).connect();
    connection.on('error', ignore);
    let broken: Error | undefined;
    try {
      // Goes out together with the first statement (a round trip less); it can only fail with its connection.
      const begun = connection.query('begin');
      begun.catch(ignore);
      const result = await work(new OpenTransaction(connection, this.dataSource));
      await begun;
      const { command } = await connection.query('commit');
      // What Postgres answers when a failed statement went unnoticed: nothing has been written.
      if (command !== 'COMMIT') throw new Error('The transaction was rolled back at its commit');
      return result;
    } catch (error) {
      // A connection that cannot even roll back is of no more use; the first error is the one that tells why.
      await connection.query('rollback').catch((failure: Error) => (broken = failure));
      throw error;
    } finally {
      connection.off('error', ignore);
      connection.release(broken);
    }
  }
}

/** A connection that is lost in the middle of a transaction tells so at its next statement as well. */
const ignore = (): void => undefined;

class OpenTransaction implements Transaction {
  private ormManager: EntityManager | undefined;

  constructor(
    private readonly connection: PoolClient,
    private readonly dataSource: DataSource,
  ) {}

  async run<Row>(statement: Statement<Row>): Promise<Row[]> {
    return (await this.connection.query<Row & object>(statement)).rows;
  }

  /** Made when first asked for: most transactions are statements only, and a query runner costs more than one of them. */
  get manager(): EntityManager {
    return (this.ormManager ??= managerOn(this.connection, this.dataSource));
  }
}
