import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, type Repository } from 'typeorm';
import { acrossTenants } from '../common/tenant-scope';
import { Database } from '../database/database.service';
import { lockList } from '../database/sql/lock-list.sql';
import type { Transaction } from '../database/transaction';
import { ApiKey } from './api-key.entity';
import { findKeyByHash, type KeyByHash, type KeyUse, touchKeys } from './sql/api-keys.sql';

/** Revoked keys stay, and a client may make and revoke them all day long. */
const MAX_LISTED = 1_000;

@Injectable()
export class ApiKeysRepository {
  constructor(
    @InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>,
    private readonly database: Database,
  ) {}

  async findForAuthentication(hash: Buffer): Promise<KeyByHash | undefined> {
    const [key] = await acrossTenants(() => this.database.run(findKeyByHash(hash)));
    return key;
  }

  async insert(key: Omit<ApiKey, 'lastUsedAt' | 'revokedAt'>, tx: Transaction): Promise<void> {
    await tx.manager.insert(ApiKey, { ...key, lastUsedAt: null, revokedAt: null });
  }

  /** Newest first: all that are not revoked, and of the revoked ones the newest, up to 1,000 in all. */
  async list(organizationId: string): Promise<ApiKey[]> {
    const keys = await this.keys.find({
      where: { organizationId },
      order: { revokedAt: { direction: 'DESC', nulls: 'FIRST' }, id: 'DESC' },
      take: MAX_LISTED,
    });
    return keys.sort((one, other) => (one.id < other.id ? 1 : -1));
  }

  /** Counts those neither revoked nor expired at `now`; further additions wait until the end of the transaction. */
  async countActive(organizationId: string, now: Date, tx: Transaction): Promise<number> {
    await tx.run(lockList(`api keys of ${organizationId}`));
    const usable = { organizationId, revokedAt: IsNull() };
    return tx.manager.countBy(ApiKey, [
      { ...usable, expiresAt: IsNull() },
      { ...usable, expiresAt: MoreThan(now) },
    ]);
  }

  /** For the operator, who names a key by its id alone. */
  findAnywhere(id: string): Promise<ApiKey | null> {
    return this.keys.findOneBy({ id });
  }

  find(organizationId: string, id: string): Promise<ApiKey | null> {
    return this.keys.findOneBy({ organizationId, id });
  }

  /** False when it has been revoked before: that keeps the first time. */
  async revoke(organizationId: string, id: string, at: Date, tx: Transaction): Promise<boolean> {
    const { affected } = await tx.manager.update(
      ApiKey,
      { organizationId, id, revokedAt: IsNull() },
      { revokedAt: at },
    );
    return (affected ?? 0) > 0;
  }

  /** Returns the keys that it has revoked. */
  async revokeBoundTo(
    organizationId: string,
    domainId: string,
    at: Date,
    tx: Transaction,
  ): Promise<Pick<ApiKey, 'id' | 'mode'>[]> {
    const result = await tx.manager
      .createQueryBuilder()
      .update(ApiKey)
      .set({ revokedAt: at })
      .where({ organizationId, domainId, revokedAt: IsNull() })
      .returning(['id', 'mode'])
      .execute();
    return result.raw as Pick<ApiKey, 'id' | 'mode'>[];
  }

  async recordUses(uses: readonly KeyUse[]): Promise<void> {
    await this.database.run(touchKeys(uses));
  }
}
