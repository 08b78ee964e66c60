import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type FindOptionsWhere, ILike, In, Not, MoreThan, type Repository } from 'typeorm';
import { isUuid } from '../../common/ids';
import type { Transaction } from '../../database/statements/transaction';
import { Organization, type OrganizationStatus } from './organization.entity';

type Changeable = Pick<Organization, 'name' | 'status' | 'trackOpens' | 'trackClicks' | 'weight' | 'monthlyRecipients'>;

/** An absent property matches everything. */
export interface OrganizationFilter {
  /** A part of the name, or the id. */
  readonly text?: string | undefined;
  readonly status?: OrganizationStatus | undefined;
}

/** Organizations. No method filters by tenant: the callers act for the operator. */
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

  /** The organization that follows `id` in the order of ids. */
  findAfter(id: string, tx: Transaction): Promise<Organization | null> {
    return tx.manager.getRepository(Organization).findOne({ where: { id: MoreThan(id) }, order: { id: 'ASC' } });
  }

  list(): Promise<Organization[]> {
    return this.organizations.find({ order: { id: 'ASC' } });
  }

  /** Newest first, with the total number of matches. */
  page(filter: OrganizationFilter, page: { skip: number; take: number }): Promise<[Organization[], number]> {
    return this.organizations.findAndCount({ where: toWhere(filter), order: { id: 'DESC' }, ...page });
  }

  findNames(ids: readonly string[]): Promise<Pick<Organization, 'id' | 'name'>[]> {
    return this.organizations.find({ select: { id: true, name: true }, where: { id: In(ids) } });
  }

  count(): Promise<number> {
    return this.organizations.count();
  }

  /** Organizations with a weight other than 1. */
  findWeighted(): Promise<Pick<Organization, 'id' | 'weight'>[]> {
    return this.organizations.find({ select: { id: true, weight: true }, where: { weight: Not(1) } });
  }

  /** Locks the row until the transaction ends. */
  lock(id: string, tx: Transaction): Promise<Organization | null> {
    return tx.manager.findOne(Organization, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  async change(id: string, changes: Partial<Changeable>, at: Date, tx: Transaction): Promise<void> {
    await tx.manager.update(Organization, { id }, { ...changes, updatedAt: at });
  }
}

function toWhere({ text, status }: OrganizationFilter): FindOptionsWhere<Organization> {
  return {
    ...(text !== undefined && (isUuid(text) ? { id: text.toLowerCase() } : { name: ILike(`%${escapeLike(text)}%`) })),
    ...(status !== undefined && { status }),
  };
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
