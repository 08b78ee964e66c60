import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import type { Transaction } from '../../database/transaction';
import { AuditEntry } from './audit-entry.entity';

@Injectable()
export class AuditRepository {
  constructor(@InjectRepository(AuditEntry) private readonly entries: Repository<AuditEntry>) {}

  async insert(entries: readonly AuditEntry[], tx: Transaction): Promise<void> {
    await tx.manager.insert(AuditEntry, [...entries]);
  }

  latest(organizationId: string, limit: number): Promise<AuditEntry[]> {
    return this.entries.find({ where: { organizationId }, order: { id: 'DESC' }, take: limit });
  }
}
