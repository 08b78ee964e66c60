import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { And, type FindOptionsWhere, LessThan, MoreThanOrEqual, Raw, type Repository } from 'typeorm';
import type { Tenant } from '../common/tenant';
import { Database } from '../database/database.service';
import type { Transaction } from '../database/transaction';
import { AuditEntry } from './audit-entry.entity';
import { deleteOldEntries } from './sql/delete-old-entries.sql';

/** An absent property matches everything. */
export interface AuditFilter extends Partial<Pick<AuditEntry, 'actor' | 'action' | 'targetType' | 'targetId'>> {
  /** At or after. */
  readonly from?: Date;
  /** Before. */
  readonly to?: Date;
}

/** What an operator looks for, in one organization or in all; `organizationId` is `INSTALLATION` for what concerns none. */
export type OperatorAuditFilter = Partial<Pick<AuditEntry, 'organizationId' | 'action'>>;

@Injectable()
export class AuditRepository {
  constructor(
    @InjectRepository(AuditEntry) private readonly entries: Repository<AuditEntry>,
    private readonly database: Database,
  ) {}

  async insert(entries: readonly AuditEntry[], tx: Transaction): Promise<void> {
    await tx.manager.insert(AuditEntry, [...entries]);
  }

  /** Skips entries that are there already: the batch may have been committed although its acknowledgement was lost. */
  async insertOnce(entries: readonly AuditEntry[], tx: Transaction): Promise<void> {
    await tx.manager
      .createQueryBuilder()
      .insert()
      .into(AuditEntry)
      .values([...entries])
      .orIgnore()
      .execute();
  }

  /** Newest first, along the primary key. @param after id of the last entry of the page before */
  page(
    { organizationId, mode }: Tenant,
    { from, to, ...equal }: AuditFilter,
    { limit, after }: { limit: number; after?: string },
  ): Promise<AuditEntry[]> {
    const where: FindOptionsWhere<AuditEntry> = {
      organizationId,
      ...equal,
      ...(after !== undefined && { id: LessThan(after) }),
      ...((from ?? to) && { occurredAt: between(from, to) }),
      ...(mode === 'test' && { data: Raw((column) => `${column} ->> 'mode' is distinct from 'live'`) }),
    };
    return this.entries.find({ where, order: { id: 'DESC' }, take: limit });
  }

  /** Of every organization, newest first, along the index audit_log_newest or the primary key. */
  pageOfAll(filter: OperatorAuditFilter, { limit, after }: { limit: number; after?: string }): Promise<AuditEntry[]> {
    const where = { ...filter, ...(after !== undefined && { id: LessThan(after) }) };
    return this.entries.find({ where, order: { id: 'DESC' }, take: limit });
  }

  /** Returns the number of deleted entries. */
  async deleteBefore(before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldEntries(before, limit))).length;
  }
}

function between(from: Date | undefined, to: Date | undefined) {
  if (from && to) return And(MoreThanOrEqual(from), LessThan(to));
  return from ? MoreThanOrEqual(from) : LessThan(to as Date);
}
