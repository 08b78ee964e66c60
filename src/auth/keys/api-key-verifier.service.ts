import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost, Revisions } from '../../common/bounded-cache';
import { Clock, SECOND } from '../../common/clock';
import { AppError, reasonOf } from '../../common/errors/app-error';
import type { Principal } from '../../common/http/principal';
import { RefusedAccessService } from './refused-access.service';
import { ApiKeysRepository } from './api-keys.repository';
import { hashKey, invalidKey, modeOfKey } from './key-format';
import { effectiveScopes } from '../../common/http/scopes';
import type { KeyByHash, KeyBySession, KeyUse } from './sql/api-keys.sql';

/** A revocation takes effect everywhere within this time; the contract promises 5 s. */
const CACHE_MS = 2 * SECOND;
const FLUSH_USES_MS = 5 * SECOND;

interface Verified {
  readonly key: KeyByHash & Partial<Pick<KeyBySession, 'sessionExpiresAt'>>;
  readonly principal: Principal;
  /** Of `Revisions`, from before it was read. */
  readonly revision: number;
}

type LookUp = () => Promise<Verified['key'] | undefined>;

/** Resolves an API key, or a console session, to a principal; caches it for two seconds, so that a busy key costs no query. */
@Injectable()
export class ApiKeyVerifier implements OnModuleDestroy {
  private readonly logger = new Logger(ApiKeyVerifier.name);
  private readonly cache: LRUCache<string, Promise<Verified | undefined>>;
  private readonly revisions = new Revisions();
  private readonly uses = new Map<string, KeyUse>();
  private readonly flushTimer: NodeJS.Timeout;

  constructor(
    private readonly keys: ApiKeysRepository,
    private readonly refused: RefusedAccessService,
    private readonly clock: Clock,
  ) {
    this.cache = new LRUCache({ ...atMost(20_000), ttl: CACHE_MS, perf: { now: () => this.clock.monotonicMs() } });
    this.flushTimer = setInterval(() => void this.flushUses(), FLUSH_USES_MS).unref();
  }

  /** @throws AppError invalid_api_key, expired_api_key, revoked_api_key or account_suspended. */
  async verify(presented: string): Promise<Principal> {
    if (modeOfKey(presented) === undefined) throw invalidKey();
    const hash = hashKey(presented);
    const cacheKey = hash.toString('latin1');
    const verified = await this.cached(cacheKey, () => this.keys.findForAuthentication(hash));
    if (!verified) throw invalidKey();
    return this.admit(verified);
  }

  /**
   * The principal of the key behind a console session. @param token the cookie's value
   * @throws AppError as `verify`
   */
  async verifySession(token: string): Promise<Principal> {
    const hash = hashKey(token);
    const cacheKey = `session ${hash.toString('latin1')}`;
    const verified = await this.cached(cacheKey, () => this.keys.findBySession(hash));
    const end = verified?.key.sessionExpiresAt;
    if (!verified || end === undefined || end <= this.clock.now()) {
      throw new AppError('invalid_api_key', 'This session has ended', { suggestion: 'Sign in again' });
    }
    return this.admit(verified);
  }

  /** Reads the organization's keys again, so that a revocation made in this process is immediate. */
  forget(organizationId: string): void {
    this.revisions.add(organizationId);
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.flushTimer);
    await this.flushUses();
  }

  private admit({ key, principal }: Verified): Principal {
    const now = this.clock.now();
    this.refuseUnusable(key, now);
    this.uses.set(key.id, { organizationId: key.organizationId, id: key.id, usedAt: now });
    return principal;
  }

  private async cached(cacheKey: string, lookUp: LookUp): Promise<Verified | undefined> {
    const known = await (this.cache.get(cacheKey) ?? this.remember(cacheKey, lookUp));
    const isCurrent = !known || known.revision >= this.revisions.of(known.key.organizationId);
    return isCurrent ? known : this.remember(cacheKey, lookUp);
  }

  private remember(cacheKey: string, lookUp: LookUp): Promise<Verified | undefined> {
    const revision = this.revisions.now;
    const pending = lookUp().then((key) => key && { key, principal: toPrincipal(key), revision });
    this.cache.set(cacheKey, pending);
    // A failed query must not be cached.
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
      throw new AppError('account_suspended', 'The organization is suspended', {
        suggestion: 'Ask the operator of the service, who can end the suspension',
      });
    }
  }

  private async flushUses(): Promise<void> {
    if (this.uses.size === 0) return;
    const uses = [...this.uses.values()];
    this.uses.clear();
    // Only the display of "last used" depends on it: a failure is logged and not retried.
    await this.keys
      .recordUses(uses)
      .catch((error: unknown) => this.logger.warn(`Last use of keys not noted: ${reasonOf(error)}`));
  }
}

function toPrincipal(key: KeyByHash): Principal {
  return {
    organizationId: key.organizationId,
    apiKeyId: key.id,
    mode: key.mode,
    scopes: effectiveScopes(key.scopes),
    domainId: key.domainId ?? undefined,
    ...(key.expiresAt && !key.sessionOnly && { expiresAt: key.expiresAt }),
  };
}
