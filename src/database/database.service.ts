import { Injectable } from '@nestjs/common';
import type { PoolClient } from 'pg';
import { DataSource } from 'typeorm';
import { poolOf } from './data-source';
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
      const result = await poolOf(this.dataSource).query<Row & object>({ ...statement });
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
    const runner = this.dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as PoolClient;
      await runner.startTransaction();
      const run = async <Row>(statement: Statement<Row>): Promise<Row[]> =>
        (await client.query<Row & object>({ ...statement })).rows;
      const result = await work({ run, manager: runner.manager });
      await runner.commitTransaction();
      return result;
    } catch (error) {
      // On a broken connection the rollback fails too; the first error is the one that tells why.
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await runner.release().catch(() => undefined);
    }
  }
}
