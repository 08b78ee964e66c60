import { Injectable } from '@nestjs/common';
import { Clock } from '../common/clock';
import { Database } from '../database/database.service';
import type { Transaction } from '../database/transaction';
import type { ApiKey } from './api-key.entity';
import { ApiKeysRepository } from './api-keys.repository';
import { type AuditRecord, AuditService } from '../audit/audit.service';

/** Changes keys and writes down who did it, in one transaction. */
@Injectable()
export class ApiKeyChanges {
  constructor(
    private readonly keys: ApiKeysRepository,
    private readonly trail: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async add(key: Omit<ApiKey, 'lastUsedAt' | 'revokedAt'>, actor: string): Promise<void> {
    const { scopes, domainId, expiresAt } = key;
    await this.database.transaction(async (tx) => {
      await this.keys.insert(key, tx);
      await this.trail.record([keyEvent('api_key.created', key, actor, { scopes, domainId, expiresAt })], tx);
    });
  }

  /** A key that has been revoked stays as it is. */
  async revoke(key: ApiKey, actor: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const isChanged = await this.keys.revoke(key.organizationId, key.id, this.clock.now(), tx);
      if (isChanged) await this.trail.record([keyEvent('api_key.revoked', key, actor)], tx);
    });
  }

  async revokeBoundTo(organizationId: string, domainId: string, actor: string, tx: Transaction): Promise<void> {
    const revoked = await this.keys.revokeBoundTo(organizationId, domainId, this.clock.now(), tx);
    await this.trail.record(
      revoked.map((key) => keyEvent('api_key.revoked', { organizationId, ...key }, actor, { domainId })),
      tx,
    );
  }
}

/** The name of a key is left out: it may be a person's. */
function keyEvent(
  action: string,
  { organizationId, id, mode }: Pick<ApiKey, 'organizationId' | 'id' | 'mode'>,
  actor: string,
  data: object = {},
): AuditRecord {
  const said = Object.entries(data).filter(([, value]) => value !== null);
  const target = { targetType: 'api_key', targetId: id };
  return { organizationId, actor, action, ...target, data: { mode, ...Object.fromEntries(said) } };
}
