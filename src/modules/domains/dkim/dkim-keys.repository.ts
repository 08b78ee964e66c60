import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, LessThanOrEqual, type Repository } from 'typeorm';
import type { Transaction } from '../../../database/transaction';
import { DkimKey, type DkimKeyState } from './dkim-key.entity';
import { deleteExpiredDkimKeys, type ExpiredDkimKey } from './sql/delete-expired-dkim-keys.sql';

type Owner = Pick<DkimKey, 'organizationId' | 'domainId'>;

@Injectable()
export class DkimKeysRepository {
  constructor(@InjectRepository(DkimKey) private readonly keys: Repository<DkimKey>) {}

  async insert(key: DkimKey, tx: Transaction): Promise<void> {
    await tx.manager.insert(DkimKey, key);
  }

  findActive(owners: readonly Owner[]): Promise<DkimKey[]> {
    return this.keys.findBy({
      organizationId: In([...new Set(owners.map((owner) => owner.organizationId))]),
      domainId: In(owners.map((owner) => owner.domainId)),
      state: 'active',
    });
  }

  /** Of several domains, oldest first; expired ones may still be among them. */
  listOf(organizationId: string, domainIds: readonly string[], tx?: Transaction): Promise<DkimKey[]> {
    const keys = tx ? tx.manager.getRepository(DkimKey) : this.keys;
    return keys.find({
      where: { organizationId, domainId: In([...domainIds]) },
      order: { domainId: 'ASC', createdAt: 'ASC', selector: 'ASC' },
    });
  }

  async changeState(
    { organizationId, domainId, selector }: Owner & Pick<DkimKey, 'selector'>,
    change: { readonly state: DkimKeyState; readonly expiresAt: Date | null },
    tx: Transaction,
  ): Promise<void> {
    await tx.manager.update(DkimKey, { organizationId, domainId, selector }, change);
  }

  async deleteExpiredOf({ organizationId, domainId }: Owner, before: Date, tx: Transaction): Promise<void> {
    const expired = { state: 'retiring' as const, expiresAt: LessThanOrEqual(before) };
    await tx.manager.delete(DkimKey, { organizationId, domainId, ...expired });
  }

  /** Of every organization. */
  deleteExpired(before: Date, limit: number, tx: Transaction): Promise<ExpiredDkimKey[]> {
    return tx.run(deleteExpiredDkimKeys(before, limit));
  }
}
