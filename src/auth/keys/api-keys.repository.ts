import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, type Repository } from 'typeorm';
import { acrossTenants } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import { lockList } from '../../database/statements/locks.sql';
import type { Transaction } from '../../database/statements/transaction';
import { ApiKey, OperatorKey } from './api-key.entity';
import {
  deleteEndedSessionKeys,
  deleteOldestEndedKeys,
  findKeyByHash,
  findKeyBySession,
  type KeyByHash,
  type KeyBySession,
  type KeyUse,
  touchKeys,
} from './sql/api-keys.sql';

/** Bounds the list; without keys of console sessions an organization hardly has more. */
const MAX_LISTED = 1_000;

/** Keys of an organization: those bound to a domain, or those of console sessions. */
export type KeyFilter = Pick<ApiKey, 'organizationId'> &
  (Pick<ApiKey, 'domainId'> | (Pick<ApiKey, 'sessionOnly'> & Partial<Pick<ApiKey, 'id' | 'mode'>>));

export type RevokedKey = Pick<ApiKey, 'id' | 'mode'>;

/** API keys of organizations, stored as hashes; authentication reads them without knowing the organization. */
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

  /** The key behind a console session. */
  async findBySession(hash: Buffer): Promise<KeyBySession | undefined> {
    const [key] = await acrossTenants(() => this.database.run(findKeyBySession(hash)));
    return key;
  }

  async insert(key: Omit<ApiKey, 'lastUsedAt' | 'revokedAt'>, tx: Transaction): Promise<void> {
    await tx.manager.insert(ApiKey, { ...key, lastUsedAt: null, revokedAt: null });
  }

  /**
   * Newest first: all that are not revoked, and of the revoked ones the newest, up to 1,000 in all. Keys of console sessions
   * are among them as long as their session lasts.
   */
  async list(organizationId: string, now: Date): Promise<ApiKey[]> {
    const keys = await this.keys.find({
      where: [
        { organizationId, sessionOnly: false },
        { organizationId, sessionOnly: true, revokedAt: IsNull(), expiresAt: MoreThan(now) },
      ],
      order: { revokedAt: { direction: 'DESC', nulls: 'FIRST' }, id: 'DESC' },
      take: MAX_LISTED,
    });
    return keys.sort((one, other) => (one.id < other.id ? 1 : -1));
  }

  /** Counts keys that are neither revoked nor expired at `now`, except those of console sessions. Other additions wait until the transaction ends. */
  async countActive(organizationId: string, now: Date, tx: Transaction): Promise<number> {
    await tx.run(lockList(`api keys of ${organizationId}`));
    const usable = { organizationId, sessionOnly: false, revokedAt: IsNull() };
    return tx.manager.countBy(ApiKey, [
      { ...usable, expiresAt: IsNull() },
      { ...usable, expiresAt: MoreThan(now) },
    ]);
  }

  /** Deletes revoked and expired keys that ended before the `keep` last ones, except those of console sessions; 1,000 at a time. */
  async deleteOldestEnded(organizationId: string, now: Date, keep: number, tx: Transaction): Promise<void> {
    await tx.run(deleteOldestEndedKeys(organizationId, now, keep));
  }

  /** For operators, who name a key by its id alone. */
  findAnywhere(id: string): Promise<ApiKey | null> {
    return this.keys.findOneBy({ id });
  }

  find(organizationId: string, id: string): Promise<ApiKey | null> {
    return this.keys.findOneBy({ organizationId, id });
  }

  /** Returns false for a key that is revoked already, which keeps its first time. */
  async revoke(organizationId: string, id: string, at: Date, tx: Transaction): Promise<boolean> {
    const { affected } = await tx.manager.update(
      ApiKey,
      { organizationId, id, revokedAt: IsNull() },
      { revokedAt: at },
    );
    return (affected ?? 0) > 0;
  }

  /** Revokes and returns all matching keys that are not revoked yet. */
  async revokeWhere(which: KeyFilter, at: Date, tx: Transaction): Promise<RevokedKey[]> {
    const result = await tx.manager
      .createQueryBuilder()
      .update(ApiKey)
      .set({ revokedAt: at })
      .where({ ...which, revokedAt: IsNull() })
      .returning(['id', 'mode'])
      .execute();
    return result.raw as RevokedKey[];
  }

  async recordUses(uses: readonly KeyUse[]): Promise<void> {
    await this.database.run(touchKeys(uses));
  }

  /**
   * Deletes keys that sign-in links made for one session each, and that ended before a moment: up to `limit` of organizations and as many
   * of operators. Returns their number.
   */
  async deleteSessionKeysEndedBefore(before: Date, limit: number): Promise<number> {
    const ofOrganizations = await this.database.run(deleteEndedSessionKeys('api_keys', before, limit));
    const ofOperators = await this.database.run(deleteEndedSessionKeys('operator_keys', before, limit));
    return ofOrganizations.length + ofOperators.length;
  }
}

/** Keys of operators, stored as hashes. There are few, and each is read once in two seconds at most. */
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

  /** Returns false for a key that is revoked already, which keeps its first time. */
  async revoke(id: string, at: Date, tx: Transaction): Promise<boolean> {
    const { affected } = await tx.manager.update(OperatorKey, { id, revokedAt: IsNull() }, { revokedAt: at });
    return (affected ?? 0) > 0;
  }

  /** Revokes the keys of all console sessions opened by a link, or only the key `id` of one. Returns the ids. */
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
