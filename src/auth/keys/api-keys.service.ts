import { Inject, Injectable, Optional } from '@nestjs/common';
import { type AuditRecord, AuditService, OPERATOR } from '../../audit/audit.service';
import { Clock } from '../../common/clock';
import { AppError, NotFoundError, ValidationError } from '../../common/errors/app-error';
import { isUuid, newId } from '../../common/ids';
import type { Scope } from '../../common/http/scopes';
import type { Mode, Tenant } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import type { ApiKey } from './api-key.entity';
import { ApiKeyVerifier } from './api-key-verifier.service';
import { ApiKeysRepository, type KeyFilter, type RevokedKey } from './api-keys.repository';
import { DomainDirectory } from './domain-directory';
import { mintKey } from './key-format';

export interface NewApiKey {
  readonly name: string;
  readonly mode: Mode;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date;
  readonly domainId?: string;
  /** For a console session opened by a link: the key ends with the session and does not count towards the organization's limit. */
  readonly sessionOnly?: boolean;
}

/** The key on whose behalf keys are managed: a test key sees test keys only, a bound key those of its domain only. */
export interface KeyHolder extends Tenant {
  readonly apiKeyId: string;
  readonly scopes: ReadonlySet<string>;
  readonly expiresAt?: Date;
}

/** Per organization, both modes together: keys that are neither revoked nor expired and belong to no console session. */
export const MAX_ACTIVE_KEYS = 500;

/** Of these, an organization has as many again that are revoked or expired: with a new key, those that ended first are deleted. */
export const MAX_ENDED_KEYS = 500;

export type CreatedApiKey = Omit<ApiKey, 'hash' | 'lastUsedAt' | 'revokedAt'> & { readonly key: string };

/** Creates, lists and revokes API keys; every change is recorded in the audit log, in its transaction. */
@Injectable()
export class ApiKeysService {
  constructor(
    private readonly keys: ApiKeysRepository,
    private readonly verifier: ApiKeyVerifier,
    @Optional() @Inject(DomainDirectory) private readonly domains: DomainDirectory | undefined,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates a key on behalf of another one, which can pass on only what it has itself.
   * @throws AppError insufficient_permissions, domain_not_allowed, api_key_limit_reached, ValidationError
   */
  async createFor(creator: KeyHolder, wanted: NewApiKey): Promise<CreatedApiKey> {
    if (creator.mode === 'test' && wanted.mode === 'live') {
      throw new AppError('insufficient_permissions', 'A test key can create test keys only');
    }
    const missing = wanted.scopes.filter((scope) => !creator.scopes.has(scope));
    if (missing[0]) {
      throw new AppError('insufficient_permissions', `This API key cannot grant the scope ${missing.join(', ')}`, {
        // One scope, as where a route requires it.
        details: { required: missing[0], missing },
        suggestion: 'Use a key that has the scopes itself, or leave them out',
      });
    }
    refuseLongerLived(creator, wanted);
    // A key that is bound to a domain must not make one that is not.
    const domainId = wanted.domainId ?? creator.domainId;
    if (creator.domainId !== undefined && domainId !== creator.domainId) {
      throw new AppError('domain_not_allowed', 'This API key is bound to another domain');
    }
    return this.create(creator.organizationId, { ...wanted, domainId }, creator.apiKeyId);
  }

  /**
   * Creates a key without checking the caller's own rights: for the command line.
   * @param actor recorded in the audit log
   * @throws ValidationError, AppError api_key_limit_reached
   */
  async create(organizationId: string, wanted: NewApiKey, actor: string = OPERATOR): Promise<CreatedApiKey> {
    const now = this.clock.now();
    if (wanted.expiresAt && wanted.expiresAt <= now) {
      throw new ValidationError({ expiresAt: ['expiresAt must be in the future'] });
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
      sessionOnly: wanted.sessionOnly ?? false,
      createdAt: now,
    };
    await this.insert({ ...record, hash }, actor);
    return { ...record, key };
  }

  /** @throws NotFoundError */
  async get(organizationId: string, id: string): Promise<ApiKey> {
    const key = await this.keys.find(organizationId, id);
    if (!key) throw new NotFoundError('API key');
    return key;
  }

  /** Every key of an organization: for the command line. */
  list(organizationId: string): Promise<ApiKey[]> {
    return this.keys.list(organizationId, this.clock.now());
  }

  async listFor(holder: KeyHolder): Promise<ApiKey[]> {
    return (await this.list(holder.organizationId)).filter((key) => isVisible(key, holder));
  }

  /** @throws NotFoundError */
  async revokeFor(holder: KeyHolder, id: string): Promise<void> {
    const key = await this.keys.find(holder.organizationId, id);
    if (!key || !isVisible(key, holder)) throw new NotFoundError('API key');
    await this.revoke(key, holder.apiKeyId);
  }

  /** For operators, who name a key by its id alone. @throws NotFoundError */
  async revokeAnywhere(id: string): Promise<void> {
    const key = isUuid(id) ? await this.keys.findAnywhere(id) : null;
    if (!key) throw new NotFoundError('API key');
    await this.revoke(key, OPERATOR);
  }

  /** Revokes the keys of a domain in the transaction that removes it; takes effect within two seconds, or after `forget`. */
  async revokeBoundTo(organizationId: string, domainId: string, actor: string, tx: Transaction): Promise<void> {
    await this.revokeWhere({ organizationId, domainId }, actor, tx);
  }

  /** After a transaction that has revoked keys: this process refuses them at once. */
  forget(organizationId: string): void {
    this.verifier.forget(organizationId);
  }

  /**
   * Revokes the key of a console session that was opened by a link, in the transaction that ends the session. Other keys stay.
   * @param everywhere ends those of all such sessions of the organization and mode
   * @returns the ids of the revoked keys
   */
  async endSessionKeys(
    { organizationId, keyId: id }: { readonly organizationId: string; readonly keyId: string },
    everywhere: boolean,
    tx: Transaction,
  ): Promise<string[]> {
    const ofSessions = { organizationId, sessionOnly: true };
    const [own] = await this.revokeWhere({ ...ofSessions, id }, id, tx);
    if (!own) return [];
    const others = everywhere ? await this.revokeWhere({ ...ofSessions, mode: own.mode }, id, tx) : [];
    return [own, ...others].map((key) => key.id);
  }

  /** A domain that is removed at the same time revokes the keys that it finds: this one is there by then, or not made. */
  private async assertHeld(
    { organizationId, domainId }: Pick<ApiKey, 'organizationId' | 'domainId'>,
    tx: Transaction,
  ): Promise<void> {
    if (domainId === null) return;
    if (!this.domains) throw new Error('An API key is to be bound to a domain, but this process does not know domains');
    if (await this.domains.holds(organizationId, domainId, tx)) return;
    throw new ValidationError({ domainId: ['domainId must name a domain of this organization'] });
  }

  private async revokeWhere(which: KeyFilter, actor: string, tx: Transaction): Promise<RevokedKey[]> {
    const { organizationId } = which;
    const data = 'domainId' in which ? { domainId: which.domainId } : {};
    const revoked = await this.keys.revokeWhere(which, this.clock.now(), tx);
    await this.audit.record(
      revoked.map((key) => keyEvent('api_key.revoked', { organizationId, ...key }, actor, data)),
      tx,
    );
    return revoked;
  }

  private async insert(key: Omit<ApiKey, 'lastUsedAt' | 'revokedAt'>, actor: string): Promise<void> {
    const { scopes, domainId, expiresAt } = key;
    await this.database.transaction(async (tx) => {
      await this.assertHeld(key, tx);
      if (!key.sessionOnly) await this.makeRoom(key, tx);
      await this.keys.insert(key, tx);
      await this.audit.record([keyEvent('api_key.created', key, actor, { scopes, domainId, expiresAt })], tx);
    });
  }

  /** @throws AppError api_key_limit_reached */
  private async makeRoom(
    { organizationId, createdAt }: Pick<ApiKey, 'organizationId' | 'createdAt'>,
    tx: Transaction,
  ): Promise<void> {
    const active = await this.keys.countActive(organizationId, createdAt, tx);
    if (active >= MAX_ACTIVE_KEYS) throw tooMany();
    await this.keys.deleteOldestEnded(organizationId, createdAt, MAX_ENDED_KEYS, tx);
  }

  /** A key that is revoked already stays as it is. */
  private async revoke(key: ApiKey, actor: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const isChanged = await this.keys.revoke(key.organizationId, key.id, this.clock.now(), tx);
      if (isChanged) await this.audit.record([keyEvent('api_key.revoked', key, actor)], tx);
    });
    this.verifier.forget(key.organizationId);
  }
}

/** A key that expires must not create one that expires later: its own expiry would mean nothing. */
function refuseLongerLived({ expiresAt }: KeyHolder, wanted: NewApiKey): void {
  if (expiresAt === undefined || (wanted.expiresAt && wanted.expiresAt <= expiresAt)) return;
  const end = expiresAt.toISOString();
  throw new AppError(
    'insufficient_permissions',
    `This API key expires at ${end} and can only create keys that expire by then`,
    {
      suggestion: `Set expiresAt to ${end} or earlier, or use a key that does not expire`,
    },
  );
}

function tooMany(): AppError {
  return new AppError('api_key_limit_reached', `An organization has at most ${MAX_ACTIVE_KEYS} usable API keys`, {
    suggestion: 'Revoke keys that are not used any more; GET /v1/api-keys shows lastUsedAt',
  });
}

/** The name of a key is left out: it may be a person's. */
function keyEvent(
  action: string,
  { organizationId, id, mode }: Pick<ApiKey, 'organizationId' | 'id' | 'mode'>,
  actor: string,
  data: object = {},
): AuditRecord {
  const present = Object.entries(data).filter(([, value]) => value !== null);
  const target = { targetType: 'api_key', targetId: id };
  return { organizationId, actor, action, ...target, data: { mode, ...Object.fromEntries(present) } };
}

function isVisible(key: ApiKey, holder: KeyHolder): boolean {
  const inMode = holder.mode === 'live' || key.mode === 'test';
  return inMode && (holder.domainId === undefined || key.domainId === holder.domainId);
}
