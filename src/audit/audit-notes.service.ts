import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { SECOND } from '../common/clock';
import { Database } from '../database/database.service';
import type { AuditEntry } from './audit-entry.entity';
import { AuditRepository } from './audit.repository';

const FLUSH_MS = SECOND;
const MAX_WAITING = 1_000;

/**
 * Entries that belong to no change: written together, a second later, so that no request waits for them. While the
 * database is away they wait, as many as there is room for. A process that dies loses what waits.
 */
@Injectable()
export class AuditNotes implements OnModuleDestroy {
  private readonly logger = new Logger(AuditNotes.name);
  private readonly waiting: AuditEntry[] = [];
  private timer: NodeJS.Timeout | undefined;
  private flushing = Promise.resolve();

  constructor(
    private readonly entries: AuditRepository,
    private readonly database: Database,
  ) {}

  add(entry: AuditEntry): void {
    if (this.waiting.length >= MAX_WAITING) return;
    this.waiting.push(entry);
    this.timer ??= setTimeout(() => {
      this.flushing = this.flush();
    }, FLUSH_MS).unref();
  }

  async onModuleDestroy(): Promise<void> {
    await this.flushing;
    await this.flush();
    clearTimeout(this.timer);
  }

  private async flush(): Promise<void> {
    this.timer = undefined;
    const batch = this.waiting.splice(0);
    if (batch.length === 0) return;
    try {
      await this.database.transaction((tx) => this.entries.insertOnce(batch, tx));
    } catch (error) {
      this.logger.warn(`Notes for the audit log wait: ${(error as Error).message}`);
      for (const entry of batch) this.add(entry);
    }
  }
}
