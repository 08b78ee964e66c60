import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Clock, SECOND } from '../common/clock';
import { reasonOf } from '../common/errors/app-error';
import { newId, NIL_ID } from '../common/ids';
import { type Tenant, acrossTenants } from '../common/tenant';
import { Database } from '../database/pool/database.service';
import type { Transaction } from '../database/statements/transaction';
import type { AuditEntry } from './audit-entry.entity';
import { type AuditFilter, AuditRepository, type OperatorAuditFilter } from './audit.repository';

/** The actor of changes made by the command line. Other actors: a key's id, `operator:` and an operator key's id, `system`. */
export const OPERATOR = 'operator';
export const SYSTEM = 'system';
/** The organization id of entries that concern no single organization; no organization sees them. */
export const INSTALLATION = NIL_ID;

export interface AuditRecord {
  readonly organizationId: string;
  readonly actor: string;
  /** For example `domain.verified`. */
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string;
  /** Small and free of personal data; has `mode` where the target belongs to one. */
  readonly data?: object;
}

export interface AuditPage {
  readonly limit: number;
  /** Id of the last entry of the page before. */
  readonly after?: string;
}

const FLUSH_MS = SECOND;
const MAX_WAITING = 1_000;

/**
 * Records who changed what, in the transaction that makes the change, and lists it.
 *
 * Notes are entries that belong to no change. They are written in batches, a second later, so that no request waits for
 * them. While the database is unavailable they wait, up to a limit; a process that crashes loses them.
 */
@Injectable()
export class AuditService implements OnModuleDestroy {
  private readonly logger = new Logger(AuditService.name);
  private readonly waiting: AuditEntry[] = [];
  private timer: NodeJS.Timeout | undefined;
  private flushing = Promise.resolve();

  constructor(
    private readonly entries: AuditRepository,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Writes the entries in the transaction of the change: both are stored, or neither. */
  async record(records: readonly AuditRecord[], tx: Transaction): Promise<void> {
    if (records.length === 0) return;
    await this.entries.insert(
      records.map((record) => this.toEntry(record)),
      tx,
    );
  }

  /** Writes an entry within a second or so, without making the caller wait. */
  note(record: AuditRecord): void {
    this.addNote(this.toEntry(record));
  }

  /** Newest first, and whether there are more. A test key does not see entries about live keys and data. */
  async list(reader: Tenant, filter: AuditFilter, { limit, after }: AuditPage) {
    const found = await this.entries.page(reader, filter, { limit: limit + 1, after });
    return { entries: found.slice(0, limit), hasMore: found.length > limit };
  }

  /** Entries of all organizations for the operator, newest first, and whether there are more. */
  async listAll(filter: OperatorAuditFilter, { limit, after }: AuditPage) {
    const found = await this.entries.pageOfAll(filter, { limit: limit + 1, after });
    return { entries: found.slice(0, limit), hasMore: found.length > limit };
  }

  async onModuleDestroy(): Promise<void> {
    await this.flushing;
    await this.flushNotes();
    clearTimeout(this.timer);
  }

  private toEntry(record: AuditRecord): AuditEntry {
    return { data: {}, ...record, id: newId(), occurredAt: this.clock.now() };
  }

  private addNote(entry: AuditEntry): void {
    if (this.waiting.length >= MAX_WAITING) return;
    this.waiting.push(entry);
    this.timer ??= setTimeout(() => {
      this.flushing = this.flushNotes();
    }, FLUSH_MS).unref();
  }

  private async flushNotes(): Promise<void> {
    this.timer = undefined;
    const batch = this.waiting.splice(0);
    if (batch.length === 0) return;
    try {
      await acrossTenants(() => this.database.transaction((tx) => this.entries.insertOnce(batch, tx)));
    } catch (error) {
      this.logger.warn(`Notes for the audit log wait: ${reasonOf(error)}`);
      for (const entry of batch) this.addNote(entry);
    }
  }
}

export type { AuditEntry } from './audit-entry.entity';
export type { AuditFilter, OperatorAuditFilter } from './audit.repository';
