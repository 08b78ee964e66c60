import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { newId } from '../../common/ids';
import type { Transaction } from '../../database/transaction';
import type { AuditEntry } from './audit-entry.entity';
import { AuditRepository } from './audit.repository';

/** Who does it: a key's id, the command line, or a background job. */
export const OPERATOR = 'operator';
export const SYSTEM = 'system';

export type AuditRecord = Pick<AuditEntry, 'organizationId' | 'actor' | 'action' | 'targetType' | 'targetId'> & {
  /** Small and free of personal data. */
  readonly data?: object;
};

/** Writes down who changed what, in the transaction that changes it. */
@Injectable()
export class AuditService {
  constructor(
    private readonly entries: AuditRepository,
    private readonly clock: Clock,
  ) {}

  async record(records: readonly AuditRecord[], tx: Transaction): Promise<void> {
    if (records.length === 0) return;
    const occurredAt = this.clock.now();
    await this.entries.insert(
      records.map((record) => ({ data: {}, ...record, id: newId(), occurredAt })),
      tx,
    );
  }

  /** Newest first. */
  latest(organizationId: string, limit: number): Promise<AuditEntry[]> {
    return this.entries.latest(organizationId, limit);
  }
}
