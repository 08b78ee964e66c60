import type { Transaction } from '../../database/transaction';

/** Something that the engine has done by itself and the operator of the installation wants to know. */
export interface OperatorEntry {
  /** Like `egress.suspended`. */
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string;
  /** Small and free of personal data. */
  readonly data: object;
}

/** Where the engine tells operators of it; bound to the audit log by the worker's root module. */
export abstract class OperatorLog {
  /** In the transaction that makes the change: both are written, or neither. */
  abstract record(entries: readonly OperatorEntry[], tx: Transaction): Promise<void>;
}
