import type { Transaction } from '../database/transaction';

/** Who does it: a key's id, the command line, or a background job. */
export const OPERATOR = 'operator';
export const SYSTEM = 'system';

export interface AuditRecord {
  readonly organizationId: string;
  readonly actor: string;
  /** Like `domain.verified`. */
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string;
  /** Small and free of personal data; `mode` of what belongs to one. */
  readonly data?: object;
}

/** What this room writes down about keys and organizations; bound by the audit feature. */
export abstract class AuditTrail {
  /** In the transaction that makes the change: both are there, or neither. */
  abstract record(records: readonly AuditRecord[], tx: Transaction): Promise<void>;

  /** Soon, without anybody waiting for it; lost with a process that dies before. */
  abstract note(record: AuditRecord): void;
}
