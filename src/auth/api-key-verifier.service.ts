import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Clock, SECOND } from '../common/clock';
import { AppError } from '../common/errors/app-error';
import type { Principal } from '../common/http/principal';
import { RefusedAccessService } from './refused-access.service';
import { ApiKeysRepository } from './api-keys.repository';
import { hashKey, invalidKey, modeOfKey } from './key-format';
import { effectiveScopes } from '../common/http/scopes';
import type { KeyByHash, KeyUse } from './sql/api-keys.sql';

/** A revocation takes effect everywhere within this time; the contract promises 5 s. */
const CACHE_MS = 2 * SECOND;
const FLUSH_USES_MS = 5 * SECOND;

interface Verified {
  readonly key: KeyByHash;
  readonly principal: Principal;
}

/** Turns an API key into a principal; remembers it for two seconds, so that a busy key costs no look-up. */
@Injectable()
export class ApiKeyVerifier implements OnModuleDestroy {
  private readonly logger = new Logger(ApiKeyVerifier.name);
  private readonly cache: LRUCache<string, Promise<Verified | undefined>>;
  private readonly uses = new Map<string, KeyUse>();
  private readonly flushTimer: NodeJS.Timeout;

  constructor(
    private readonly keys: ApiKeysRepository,
    private readonly refused: RefusedAccessService,
    private readonly clock: Clock,
  ) {
    this.cache = new LRUCache({ max: 20_000, ttl: CACHE_MS, perf: { now: () => this.clock.monotonicMs() } });
    this.flushTimer = setInterval(() => void this.flushUses(), FLUSH_USES_MS).unref();
  }

  /** @throws AppError invalid_api_key, expired_api_key, revoked_api_key or account_suspended. */
  async verify(presented: string): Promise<Principal> {
    if (modeOfKey(presented) === undefined) throw invalidKey();
    const verified = await this.lookUp(presented);
    if (!verified) throw invalidKey();
    const now = this.clock.now();
    this.refuseUnusable(verified.key, now);
    this.uses.set(verified.key.id, { organizationId: verified.key.organizationId, id: verified.key.id, usedAt: now });
    return verified.principal;
  }

  /** Clears this process's cache, so that a revocation made here is immediate. */
  forget(): void {
    this.cache.clear();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.flushTimer);
    await this.flushUses();
  }

  private lookUp(presented: string): Promise<Verified | undefined> {
    const hash = hashKey(presented);
    const cacheKey = hash.toString('latin1');
    const known = this.cache.get(cacheKey);
    if (known) return known;
    const pending = this.keys.findForAuthentication(hash).then((key) => key && { key, principal: toPrincipal(key) });
    this.cache.set(cacheKey, pending);
    // A failed look-up must not be remembered.
    pending.catch(() => this.cache.delete(cacheKey));
    return pending;
  }

  private refuseUnusable(key: KeyByHash, now: Date): void {
    if (key.revokedAt) {
      this.refused.keyRefused(key, 'revoked');
      throw new AppError('revoked_api_key', 'This API key has been revoked');
    }
    if (key.expiresAt && key.expiresAt <= now) {
      this.refused.keyRefused(key, 'expired');
      throw new AppError('expired_api_key', 'This API key has expired');
    }
    if (key.organizationStatus === 'suspended') {
      throw new AppError('account_suspended', 'The organization is suspended');
    }
  }

  private async flushUses(): Promise<void> {
    if (this.uses.size === 0) return;
    const uses = [...this.uses.values()];
    this.uses.clear();
    // Only the display of "last used" depends on it: a failure is logged and not repeated.
    await this.keys
      .recordUses(uses)
      .catch((error: unknown) => this.logger.warn(`Last use of keys not noted: ${(error as Error).message}`));
  }
}

function toPrincipal(key: KeyByHash): Principal {
  return {
    organizationId: key.organizationId,
    apiKeyId: key.id,
    mode: key.mode,
    scopes: effectiveScopes(key.scopes),
    domainId: key.domainId ?? undefined,
    ...(key.expiresAt && { expiresAt: key.expiresAt }),
  };
}
