import type { EntityManager } from 'typeorm';
import type { Statement } from './statement';

/** An open transaction, handed on explicitly: hot statements and repositories share its connection. */
export interface Transaction {
  /** Runs a hot statement as a prepared one. */
  run<Row>(statement: Statement<Row>): Promise<Row[]>;
  /**
   * Sends a write without waiting for its result: the commit goes out right behind it, which saves the round trip between
   * them. If it fails, Postgres turns that commit into a rollback and the transaction throws what went wrong.
   */
  write(statement: Statement<unknown>): void;
  /** For ordinary repositories. */
  readonly manager: EntityManager;
}
