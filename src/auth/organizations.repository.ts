import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Not, type Repository } from 'typeorm';
import type { Transaction } from '../database/transaction';
import { Organization } from './organization.entity';

type Changeable = Pick<Organization, 'status' | 'trackOpens' | 'trackClicks' | 'weight'>;

@Injectable()
export class OrganizationsRepository {
  constructor(@InjectRepository(Organization) private readonly organizations: Repository<Organization>) {}

  async insert(id: string, name: string, tx: Transaction): Promise<void> {
    await tx.manager.insert(Organization, { id, name });
  }

  find(id: string): Promise<Organization | null> {
    return this.organizations.findOneBy({ id });
  }

  findByOrdinal(ordinal: number): Promise<Organization | null> {
    return this.organizations.findOneBy({ ordinal });
  }

  list(): Promise<Organization[]> {
    return this.organizations.find({ order: { id: 'ASC' } });
  }

  /** Those whose weight is not 1. */
  findWeighted(): Promise<Pick<Organization, 'id' | 'weight'>[]> {
    return this.organizations.find({ select: { id: true, weight: true }, where: { weight: Not(1) } });
  }

  /** Keeps others from changing it until the transaction ends. */
  lock(id: string, tx: Transaction): Promise<Organization | null> {
    return tx.manager.findOne(Organization, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  async change(id: string, changes: Partial<Changeable>, at: Date, tx: Transaction): Promise<void> {
    await tx.manager.update(Organization, { id }, { ...changes, updatedAt: at });
  }
}
