import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type AuditRecord, AuditService, INSTALLATION, OPERATOR } from '../../audit/audit.service';
import { Clock, MINUTE, SECOND } from '../../common/clock';
import { AppError, NotFoundError, ValidationError, reasonOf } from '../../common/errors/app-error';
import type { Operator } from '../../common/http/principal';
import { effectiveScopes, type OperatorScope } from '../../common/http/scopes';
import { isUuid, newId } from '../../common/ids';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import { hashKey, invalidKey, mintKey } from './key-format';
import type { OperatorKey } from './api-key.entity';
import { OperatorKeysRepository } from './api-keys.repository';

export interface NewOperatorKey {
  readonly name: string;
  readonly scopes: readonly OperatorScope[];
  readonly expiresAt?: Date | undefined;
  /** For a console session opened by a link: the key ends with the session. */
  readonly sessionOnly?: boolean;
}

export type CreatedOperatorKey = OperatorKey & { readonly key: string };

/** A revocation takes effect everywhere within this time; the contract promises 5 s. */
const CACHE_MS = 2 * SECOND;
const USE_NOTED_EVERY_MS = MINUTE;

/** Creates, lists, revokes and verifies the keys for `/operator/v1`. Only the command line creates them. */
@Injectable()
export class OperatorKeysService {
  private readonly logger = new Logger(OperatorKeysService.name);
  private readonly cache: LRUCache<string, Promise<OperatorKey | null>>;

  constructor(
    private readonly keys: OperatorKeysRepository,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    this.cache = new LRUCache({ max: 1_000, ttl: CACHE_MS, perf: { now: () => this.clock.monotonicMs() } });
  }

  /** @throws AppError invalid_api_key, expired_api_key or revoked_api_key */
  async verify(presented: string): Promise<Operator> {
    return this.admit(await this.lookUp(hashKey(presented)));
  }

  /** The same for a key given by its id: that of a console session. */
  async verifyId(id: string): Promise<Operator> {
    return this.admit(await this.keys.find(id));
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<OperatorKey> {
    const key = await this.keys.find(id);
    if (!key) throw new NotFoundError('Operator key');
    return key;
  }

  /** @throws ValidationError */
  async create({ name, scopes, expiresAt, sessionOnly = false }: NewOperatorKey): Promise<CreatedOperatorKey> {
    const createdAt = this.clock.now();
    if (expiresAt && expiresAt <= createdAt) {
      throw new ValidationError({ expiresAt: ['expiresAt must be in the future'] });
    }
    const { key, hash, prefix } = mintKey('op');
    const times = { createdAt, expiresAt: expiresAt ?? null, lastUsedAt: null, revokedAt: null };
    const record: OperatorKey = { id: newId(), name, scopes: [...scopes], prefix, hash, sessionOnly, ...times };
    await this.database.transaction(async (tx) => {
      await this.keys.insert(record, tx);
      await this.audit.record([keyEvent('operator_key.created', record.id, { scopes, expiresAt })], tx);
    });
    return { ...record, key };
  }

  /** Newest first, revoked ones included; keys of console sessions as long as their session lasts. */
  list(): Promise<OperatorKey[]> {
    return this.keys.list(this.clock.now());
  }

  /** A key that is revoked already stays as it is. @throws NotFoundError */
  async revoke(id: string): Promise<void> {
    if (!isUuid(id) || !(await this.keys.find(id))) throw new NotFoundError('Operator key');
    await this.database.transaction(async (tx) => {
      const isChanged = await this.keys.revoke(id, this.clock.now(), tx);
      if (isChanged) await this.audit.record([keyEvent('operator_key.revoked', id)], tx);
    });
    this.cache.clear();
  }

  /** As `ApiKeysService.endSessionKeys`. */
  async endSessionKeys(id: string, everywhere: boolean, tx: Transaction): Promise<string[]> {
    const now = this.clock.now();
    const own = await this.keys.revokeOfSessions(id, now, tx);
    const others = everywhere && own.length > 0 ? await this.keys.revokeOfSessions(undefined, now, tx) : [];
    const ended = [...own, ...others];
    await this.audit.record(
      ended.map((key) => keyEvent('operator_key.revoked', key)),
      tx,
    );
    return ended;
  }

  private admit(key: OperatorKey | null): Operator {
    if (!key) throw invalidKey();
    if (key.revokedAt) throw new AppError('revoked_api_key', 'This API key has been revoked');
    if (key.expiresAt && key.expiresAt <= this.clock.now()) {
      throw new AppError('expired_api_key', 'This API key has expired');
    }
    this.noteUse(key);
    const { id: keyId, scopes, expiresAt } = key;
    return { keyId, scopes: effectiveScopes(scopes), actor: `${OPERATOR}:${keyId}`, ...(expiresAt && { expiresAt }) };
  }

  private lookUp(hash: Buffer): Promise<OperatorKey | null> {
    const cacheKey = hash.toString('latin1');
    const known = this.cache.get(cacheKey);
    if (known) return known;
    const pending = this.keys.findByHash(hash);
    this.cache.set(cacheKey, pending);
    // A failed query must not be cached.
    pending.catch(() => this.cache.delete(cacheKey));
    return pending;
  }

  /** Not waited for: only the display of "last used" depends on it. */
  private noteUse(key: OperatorKey): void {
    const now = this.clock.now();
    if (key.lastUsedAt && now.getTime() - key.lastUsedAt.getTime() < USE_NOTED_EVERY_MS) return;
    key.lastUsedAt = now;
    this.keys
      .noteUse(key.id, now)
      .catch((error: unknown) => this.logger.warn(`Last use of a key not noted: ${reasonOf(error)}`));
  }
}

/** The name of a key is left out: it may be a person's. */
function keyEvent(action: string, targetId: string, data: object = {}): AuditRecord {
  return { organizationId: INSTALLATION, actor: OPERATOR, action, targetType: 'operator_key', targetId, data };
}
