import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { MoreThan, type Repository } from 'typeorm';
import { NIL_ID } from '../../common/ids';
import type { Transaction } from '../../database/transaction';
import type { EncryptedHashKey } from './suppression';
import { SuppressionHashKey } from './suppression.entity';

const PAGE = 100;

@Injectable()
export class HashKeysRepository {
  constructor(@InjectRepository(SuppressionHashKey) private readonly keys: Repository<SuppressionHashKey>) {}

  find(organizationId: string, tx?: Transaction): Promise<SuppressionHashKey | null> {
    const keys = tx?.manager.getRepository(SuppressionHashKey) ?? this.keys;
    return keys.findOneBy({ organizationId });
  }

  /** Returns the key that the organization has, which is another one if it had one already. */
  async findOrInsert(key: SuppressionHashKey, tx: Transaction): Promise<SuppressionHashKey> {
    await tx.manager.createQueryBuilder().insert().into(SuppressionHashKey).values(key).orIgnore().execute();
    return tx.manager.findOneByOrFail(SuppressionHashKey, { organizationId: key.organizationId });
  }

  /** Those of all organizations: the master key is the operator's. */
  async *all(): AsyncGenerator<SuppressionHashKey> {
    for (let after = NIL_ID; ;) {
      const page = await this.keys.find({
        where: { organizationId: MoreThan(after) },
        order: { organizationId: 'ASC' },
        take: PAGE,
      });
      const last = page.at(-1);
      if (!last) return;
      yield* page;
      after = last.organizationId;
    }
  }

  /** False when it is no longer as it was read. */
  async replace({ organizationId, secret }: EncryptedHashKey, encrypted: Buffer): Promise<boolean> {
    return (await this.keys.update({ organizationId, secret }, { secret: encrypted })).affected === 1;
  }
}
