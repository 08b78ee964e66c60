import type { EntityManager } from 'typeorm';
import type { Statement } from './statement';

/** An open transaction, handed on explicitly: hot statements and repositories share its connection. */
export interface Transaction {
  /** Runs a hot statement as a prepared one. */
  run<Row>(statement: Statement<Row>): Promise<Row[]>;
  /** For ordinary repositories. */
  readonly manager: EntityManager;
}
