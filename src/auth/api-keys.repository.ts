import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, type Repository } from 'typeorm';
import { Database } from '../database/database.service';
import type { Transaction } from '../database/transaction';
import { ApiKey } from './api-key.entity';
import { findKeyByHash, type KeyByHash } from './sql/find-key-by-hash.sql';
import { type KeyUse, touchKeys } from './sql/touch-keys.sql';

@Injectable()
export class ApiKeysRepository {
  constructor(
    @InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>,
    private readonly database: Database,
  ) {}

  async findForAuthentication(hash: Buffer): Promise<KeyByHash | undefined> {
    const [key] = await this.database.run(findKeyByHash(hash));
    return key;
  }

  async insert(key: Omit<ApiKey, 'lastUsedAt' | 'revokedAt'>): Promise<void> {
    await this.keys.insert({ ...key, lastUsedAt: null, revokedAt: null });
  }

  list(organizationId: string): Promise<ApiKey[]> {
    return this.keys.find({ where: { organizationId }, order: { id: 'DESC' } });
  }

  /** For the operator, who names a key by its id alone. */
  findAnywhere(id: string): Promise<ApiKey | null> {
    return this.keys.findOneBy({ id });
  }

  find(organizationId: string, id: string): Promise<ApiKey | null> {
    return this.keys.findOneBy({ organizationId, id });
  }

  /** Revoking twice keeps the first time. */
  async revoke(organizationId: string, id: string, at: Date): Promise<void> {
    await this.keys.update({ organizationId, id, revokedAt: IsNull() }, { revokedAt: at });
  }

  async revokeBoundTo(organizationId: string, domainId: string, at: Date, tx: Transaction): Promise<void> {
    await tx.manager.update(ApiKey, { organizationId, domainId, revokedAt: IsNull() }, { revokedAt: at });
  }

  async noteUses(uses: readonly KeyUse[]): Promise<void> {
    await this.database.run(touchKeys(uses));
  }
}
