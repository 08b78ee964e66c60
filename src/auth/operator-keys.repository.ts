import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, type Repository } from 'typeorm';
import { acrossTenants } from '../common/tenant-scope';
import type { Transaction } from '../database/transaction';
import { OperatorKey } from './operator-key.entity';

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

  /** Newest first. */
  list(): Promise<OperatorKey[]> {
    return this.keys.find({ order: { id: 'DESC' } });
  }

  async insert(key: OperatorKey, tx: Transaction): Promise<void> {
    await tx.manager.insert(OperatorKey, key);
  }

  /** False when it has been revoked before: that keeps the first time. */
  async revoke(id: string, at: Date, tx: Transaction): Promise<boolean> {
    const { affected } = await tx.manager.update(OperatorKey, { id, revokedAt: IsNull() }, { revokedAt: at });
    return (affected ?? 0) > 0;
  }

  async noteUse(id: string, at: Date): Promise<void> {
    await acrossTenants(() => this.keys.update({ id }, { lastUsedAt: at }));
  }
}
