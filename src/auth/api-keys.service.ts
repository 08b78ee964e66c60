import { Injectable } from '@nestjs/common';
import { Clock } from '../common/clock';
import { AppError, NotFoundError, ValidationError } from '../common/errors/app-error';
import { isUuid, newId } from '../common/ids';
import type { Mode } from '../common/tenant';
import type { Transaction } from '../database/transaction';
import type { ApiKey } from './api-key.entity';
import { ApiKeyChanges } from './api-key-changes.service';
import { ApiKeyVerifier } from './api-key-verifier.service';
import { ApiKeysRepository } from './api-keys.repository';
import { OPERATOR } from '../audit/audit.service';
import { DomainOwnership } from './domain-ownership';
import { mintKey } from './key-format';
import type { Scope } from '../common/http/scopes';

export interface NewApiKey {
  readonly name: string;
  readonly mode: Mode;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date;
  readonly domainId?: string;
}

/** On whose behalf keys are managed: a test key sees test keys only, a bound key those of its domain only. */
export interface KeyHolder {
  readonly apiKeyId: string;
  readonly organizationId: string;
  readonly mode: Mode;
  readonly scopes: ReadonlySet<string>;
  readonly domainId: string | undefined;
}

export type CreatedApiKey = Omit<ApiKey, 'hash' | 'lastUsedAt' | 'revokedAt'> & { readonly key: string };

@Injectable()
export class ApiKeysService {
  constructor(
    private readonly keys: ApiKeysRepository,
    private readonly changes: ApiKeyChanges,
    private readonly verifier: ApiKeyVerifier,
    private readonly domains: DomainOwnership,
    private readonly clock: Clock,
  ) {}

  /**
   * Makes a key on behalf of another one, which can hand on only what it has itself.
   * @throws AppError insufficient_permissions, ValidationError
   */
  async createFor(creator: KeyHolder, wanted: NewApiKey): Promise<CreatedApiKey> {
    if (creator.mode === 'test' && wanted.mode === 'live') {
      throw new AppError('insufficient_permissions', 'A test key can create test keys only');
    }
    const missing = wanted.scopes.filter((scope) => !creator.scopes.has(scope));
    if (missing.length > 0) {
      throw new AppError('insufficient_permissions', `This API key cannot grant the scope ${missing.join(', ')}`, {
        details: { required: missing },
      });
    }
    // A key that is bound to a domain must not make one that is not.
    const domainId = wanted.domainId ?? creator.domainId;
    if (creator.domainId !== undefined && domainId !== creator.domainId) {
      throw new AppError('domain_not_allowed', 'This API key is bound to another domain');
    }
    return this.create(creator.organizationId, { ...wanted, domainId }, creator.apiKeyId);
  }

  /**
   * Makes a key without asking whose hand it is in: for the command line.
   * @param actor who is written down for it
   * @throws ValidationError
   */
  async create(organizationId: string, wanted: NewApiKey, actor: string = OPERATOR): Promise<CreatedApiKey> {
    const now = this.clock.now();
    if (wanted.expiresAt && wanted.expiresAt <= now) {
      throw new ValidationError({ expiresAt: ['expiresAt must be in the future'] });
    }
    if (wanted.domainId && !(await this.domains.owns(organizationId, wanted.domainId))) {
      throw new ValidationError({ domainId: ['domainId must name a domain of this organization'] });
    }
    const { key, hash, prefix } = mintKey(wanted.mode);
    const record = {
      organizationId,
      id: newId(),
      name: wanted.name,
      mode: wanted.mode,
      scopes: [...wanted.scopes],
      prefix,
      domainId: wanted.domainId ?? null,
      expiresAt: wanted.expiresAt ?? null,
      createdAt: now,
    };
    await this.changes.add({ ...record, hash }, actor);
    return { ...record, key };
  }

  /** Every key of an organization: for the command line. */
  list(organizationId: string): Promise<ApiKey[]> {
    return this.keys.list(organizationId);
  }

  async listFor(holder: KeyHolder): Promise<ApiKey[]> {
    return (await this.keys.list(holder.organizationId)).filter((key) => isVisible(key, holder));
  }

  /** @throws NotFoundError */
  async revokeFor(holder: KeyHolder, id: string): Promise<void> {
    const key = await this.keys.find(holder.organizationId, id);
    if (!key || !isVisible(key, holder)) throw new NotFoundError('API key');
    await this.revoke(key, holder.apiKeyId);
  }

  /** For the operator, who names a key by its id alone. @throws NotFoundError */
  async revokeAnywhere(id: string): Promise<void> {
    const key = isUuid(id) ? await this.keys.findAnywhere(id) : null;
    if (!key) throw new NotFoundError('API key');
    await this.revoke(key, OPERATOR);
  }

  /** With the domain, whoever removes it, in the transaction that does; seen everywhere within two seconds. */
  async revokeBoundTo(organizationId: string, domainId: string, actor: string, tx: Transaction): Promise<void> {
    await this.changes.revokeBoundTo(organizationId, domainId, actor, tx);
  }

  private async revoke(key: ApiKey, actor: string): Promise<void> {
    await this.changes.revoke(key, actor);
    this.verifier.forget();
  }
}

function isVisible(key: ApiKey, holder: KeyHolder): boolean {
  const inMode = holder.mode === 'live' || key.mode === 'test';
  return inMode && (holder.domainId === undefined || key.domainId === holder.domainId);
}
