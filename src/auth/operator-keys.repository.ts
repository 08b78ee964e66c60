import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, type Repository } from 'typeorm';
import { acrossTenants } from '../common/tenant-scope';
import type { Transaction } from '../database/transaction';
import { OperatorKey } from './api-key.entity';

/** A handful of keys, looked up once in two seconds each: nothing hot. */
@Injectable()
export class OperatorKeysRepository {
  constructor(@InjectRepository(OperatorKey) private readonly keys: Repository<OperatorKey>) {}

  findByHash(hash: Buffer): Promise<OperatorKey | null> {
    return acrossTenants(() => this.keys.findOneBy({ hash }));
  }

  find(id: string): Promise<OperatorKey | null> {
    return acrossTenants(() => this.keys.findOneBy({ id }));
  }

  /** Newest first; keys of console sessions as long as their session lasts. */
  list(now: Date): Promise<OperatorKey[]> {
    const ofSessions = { sessionOnly: true, revokedAt: IsNull(), expiresAt: MoreThan(now) };
    return this.keys.find({ where: [{ sessionOnly: false }, ofSessions], order: { id: 'DESC' } });
  }

  async insert(key: OperatorKey, tx: Transaction): Promise<void> {
    await tx.manager.insert(OperatorKey, key);
  }

  /** False when it has been revoked before: that keeps the first time. */
  async revoke(id: string, at: Date, tx: Transaction): Promise<boolean> {
    const { affected } = await tx.manager.update(OperatorKey, { id, revokedAt: IsNull() }, { revokedAt: at });
    return (affected ?? 0) > 0;
  }

  /** Revokes those of console sessions, or of the one with the key `id`. Returns the keys. */
  async revokeOfSessions(id: string | undefined, at: Date, tx: Transaction): Promise<string[]> {
    const result = await tx.manager
      .createQueryBuilder()
      .update(OperatorKey)
      .set({ revokedAt: at })
      .where({ sessionOnly: true, revokedAt: IsNull(), ...(id !== undefined && { id }) })
      .returning(['id'])
      .execute();
    return (result.raw as Pick<OperatorKey, 'id'>[]).map((key) => key.id);
  }

  async noteUse(id: string, at: Date): Promise<void> {
    await acrossTenants(() => this.keys.update({ id }, { lastUsedAt: at }));
  }
}
