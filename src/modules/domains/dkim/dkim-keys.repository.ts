import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, LessThanOrEqual, type Repository } from 'typeorm';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { DkimKey, type DkimKeyState } from './dkim-key.entity';
import {
  deleteExpiredDkimKeys,
  type EncryptedKeyRow,
  type ExpiredDkimKey,
  findKeyByName,
  findPublishedKeys,
  type KnownKey,
  listEncryptedKeys,
  type PublishedKeyRow,
  type ReEncryptedKey,
  replaceEncryptedKeys,
} from './sql/dkim-keys.sql';

export type { EncryptedKeyRow, KnownKey, PublishedKeyRow, ReEncryptedKey };

type Owner = Pick<DkimKey, 'organizationId' | 'domainId'>;

/** Owner of `dkim_keys`. It returns private keys in encrypted form only. */
@Injectable()
export class DkimKeysRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(DkimKey) private readonly keys: Repository<DkimKey>,
  ) {}

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

  /** The keys of several domains, oldest first; may include expired ones. */
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

  async deleteOf({ organizationId, domainId }: Owner, tx: Transaction): Promise<void> {
    await tx.manager.delete(DkimKey, { organizationId, domainId });
  }

  async deleteExpiredOf({ organizationId, domainId }: Owner, before: Date, tx: Transaction): Promise<void> {
    const expired = { state: 'retiring' as const, expiresAt: LessThanOrEqual(before) };
    await tx.manager.delete(DkimKey, { organizationId, domainId, ...expired });
  }

  /** Deletes retiring keys of all organizations that have expired; returns them. */
  deleteExpired(before: Date, limit: number, tx: Transaction): Promise<ExpiredDkimKey[]> {
    return tx.run(deleteExpiredDkimKeys(before, limit));
  }

  /** The public key that a selector of a verified domain names. @throws UnavailableError */
  async findByName(domain: string, selector: string): Promise<KnownKey | undefined> {
    return (await this.database.run(findKeyByName(domain, selector)))[0];
  }

  /** The public keys of several domains: one list for each, in the order given, empty for an unknown domain. @throws UnavailableError */
  async findPublished(domainIds: readonly string[]): Promise<PublishedKeyRow[][]> {
    const rows = await this.database.run(findPublishedKeys(domainIds));
    return domainIds.map((domainId) => rows.filter((row) => row.domainId === domainId));
  }

  /** Encrypted private keys of all organizations, in key order. @param after the last one of the page before */
  listEncrypted(limit: number, after?: EncryptedKeyRow): Promise<EncryptedKeyRow[]> {
    return this.database.run(listEncryptedKeys(limit, after));
  }

  /** Replaces keys that have not changed since they were read; returns their number. */
  async replaceEncrypted(keys: readonly ReEncryptedKey[]): Promise<number> {
    return keys.length === 0 ? 0 : (await this.database.run(replaceEncryptedKeys(keys))).length;
  }
}
