import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { And, type FindOptionsWhere, LessThan, MoreThanOrEqual, Raw, type Repository } from 'typeorm';
import type { Tenant } from '../common/tenant';
import { Database } from '../database/pool/database.service';
import type { Transaction } from '../database/statements/transaction';
import { AuditEntry } from './audit-entry.entity';
import type { Statement } from '../database/statements/statement';

// Deletes up to $2 entries from before a moment, oldest first.
// Writes: audit_log (index audit_log_occurred_at; its triggers refuse changes and the deletion of young entries). Locks: the rows, skip locked.
// Rows: up to $2. Without organization: retention is the same for all. Not the ORM: a bounded delete.
const TEXT = `
  delete from audit_log a
  using (
    select organization_id, id
    from audit_log
    where occurred_at < $1
    order by occurred_at
    limit $2
    for update skip locked
  ) old
  where a.organization_id = old.organization_id and a.id = old.id
  returning 1 as deleted`;

function deleteOldEntries(before: Date, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-audit-entries', text: TEXT, values: [before, limit] };
}

/** An absent property matches everything. */
export interface AuditFilter extends Partial<Pick<AuditEntry, 'actor' | 'action' | 'targetType' | 'targetId'>> {
  /** At or after. */
  readonly from?: Date;
  /** Before. */
  readonly to?: Date;
}

/** An operator's filter over one organization or all; `organizationId` is `INSTALLATION` for entries that belong to none. */
export type OperatorAuditFilter = Partial<Pick<AuditEntry, 'organizationId' | 'action' | 'targetId'>>;

/** The rows of the audit log. Reads of an organization are filtered by it; those of the operator are not. */
@Injectable()
export class AuditRepository {
  constructor(
    @InjectRepository(AuditEntry) private readonly entries: Repository<AuditEntry>,
    private readonly database: Database,
  ) {}

  async insert(entries: readonly AuditEntry[], tx: Transaction): Promise<void> {
    await tx.manager.insert(AuditEntry, [...entries]);
  }

  /** Skips entries that exist already: an earlier attempt may have been committed although its acknowledgement was lost. */
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

  /** Entries of all organizations, newest first, along the index audit_log_newest or the primary key. */
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
