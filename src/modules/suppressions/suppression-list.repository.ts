import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, type Repository } from 'typeorm';
import type { Transaction } from '../../database/transaction';
import { deleteSoftBounces } from './sql/delete-soft-bounces.sql';
import { insertSuppressions } from './sql/insert-suppressions.sql';
import type { AddressLookup, ListOwner, SuppressionReason } from './suppression';
import { Suppression } from './suppression.entity';

export interface SuppressionFilter {
  readonly reason?: SuppressionReason;
  /** Normal form of the address. */
  readonly key?: string;
  /** Under which the same address is listed if it has been erased. */
  readonly hashedKey?: string;
  readonly limit: number;
  readonly offset: number;
}

/** The lists as their owners see and change them. */
@Injectable()
export class SuppressionListRepository {
  constructor(@InjectRepository(Suppression) private readonly suppressions: Repository<Suppression>) {}

  /** Entries in force at `now`, newest first, with how many there are. */
  page({ organizationId, mode }: ListOwner, filter: SuppressionFilter, now: Date): Promise<[Suppression[], number]> {
    const { reason, key, hashedKey, limit, offset } = filter;
    const addressKey = key !== undefined && hashedKey !== undefined ? In([key, hashedKey]) : key;
    const named = { organizationId, mode, ...(reason && { reason }), ...(addressKey !== undefined && { addressKey }) };
    return this.suppressions
      .createQueryBuilder('s')
      .where(named)
      .andWhere('(s.expiresAt is null or s.expiresAt > :now)', { now })
      .orderBy({ 's.suppressedAt': 'DESC', 's.id': 'DESC' })
      .take(limit)
      .skip(offset)
      .getManyAndCount();
  }

  /** Answers the ids of those that were not on the list before, or no longer in force. */
  async insert(owner: ListOwner, entries: readonly Suppression[], now: Date, tx: Transaction): Promise<Set<string>> {
    return new Set((await tx.run(insertSuppressions(owner, entries, now))).map(({ id }) => id));
  }

  /** Of several names of one address; entries that never expire. */
  async reasonsOf(names: readonly AddressLookup[]): Promise<SuppressionReason[]> {
    const where = names.map(({ organizationId, mode, key: addressKey }) => ({
      ...{ organizationId, mode, addressKey, expiresAt: IsNull() },
    }));
    return (await this.suppressions.find({ select: { reason: true }, where })).map(({ reason }) => reason);
  }

  /** Every entry of an address, expired ones too; they stay as they are until the transaction ends. */
  lock({ organizationId, mode, key: addressKey }: AddressLookup, tx: Transaction): Promise<Suppression[]> {
    return tx.manager.find(Suppression, {
      where: { organizationId, mode, addressKey },
      order: { reason: 'ASC' },
      lock: { mode: 'pessimistic_write' },
    });
  }

  /** By reason, so that an entry that appeared meanwhile stays. */
  async delete(
    { organizationId, mode, key: addressKey }: AddressLookup,
    reasons: readonly SuppressionReason[],
    tx: Transaction,
  ): Promise<void> {
    await tx.manager.delete(Suppression, { organizationId, mode, addressKey, reason: In([...reasons]) });
  }

  /** Puts a hash in the place of an entry's address. */
  async hash(
    { organizationId, mode, addressKey, reason }: Suppression,
    hashed: Pick<Suppression, 'addressKey' | 'email'>,
    tx: Transaction,
  ): Promise<void> {
    const entry = { organizationId, mode, addressKey, reason };
    await tx.manager.update(Suppression, entry, { ...hashed, notes: null });
  }

  async forgetSoftBounces(address: AddressLookup, tx: Transaction): Promise<void> {
    await tx.run(deleteSoftBounces(address));
  }
}
