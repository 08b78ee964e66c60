import { Injectable } from '@nestjs/common';
import { Clock } from '../common/clock';
import { newId } from '../common/ids';
import type { Mode } from '../common/tenant';
import type { Transaction } from '../database/transaction';
import type { AuditEntry } from './audit-entry.entity';
import { AuditNotes } from './audit-notes.service';
import { type AuditFilter, AuditRepository } from './audit.repository';

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

/** Who reads: somebody with a test key does not see what concerns live keys and data. */
export interface AuditReader {
  readonly organizationId: string;
  readonly mode: Mode;
}

export interface AuditPage {
  readonly limit: number;
  /** Id of the last entry of the page before. */
  readonly after?: string;
}

/** Writes down who changed what, in the transaction that changes it; and tells it again. */
@Injectable()
export class AuditService {
  constructor(
    private readonly entries: AuditRepository,
    private readonly notes: AuditNotes,
    private readonly clock: Clock,
  ) {}

  /** In the transaction that makes the change: both are there, or neither. */
  async record(records: readonly AuditRecord[], tx: Transaction): Promise<void> {
    if (records.length === 0) return;
    await this.entries.insert(
      records.map((record) => this.toEntry(record)),
      tx,
    );
  }

  /** Soon, without anybody waiting for it; lost with a process that dies before. */
  note(record: AuditRecord): void {
    this.notes.add(this.toEntry(record));
  }

  /** Newest first, with whether there are more. */
  async list(reader: AuditReader, filter: AuditFilter, { limit, after }: AuditPage) {
    const found = await this.entries.page(reader, filter, { limit: limit + 1, after });
    return { entries: found.slice(0, limit), hasMore: found.length > limit };
  }

  private toEntry(record: AuditRecord): AuditEntry {
    return { data: {}, ...record, id: newId(), occurredAt: this.clock.now() };
  }
}

export type { AuditEntry } from './audit-entry.entity';
export type { AuditFilter } from './audit.repository';
