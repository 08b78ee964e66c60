import { Injectable } from '@nestjs/common';
import { AuditService } from '../../../audit/audit.service';
import { NotFoundError } from '../../../common/errors/app-error';
import type { Principal } from '../../../common/http/principal';
import type { Tenant } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import type { WebhookEndpoint } from '../queue/webhook.entity';
import { WebhookEndpointsRepository } from '../queue/webhook-endpoints.repository';
import { WebhookMessagesRepository } from '../queue/webhook-messages.repository';
import { ENDPOINT_DISABLED, MAX_WAITING } from '../queue/webhook-queue';

/** What a customer may change about an endpoint; what is undefined stays. */
export interface RequestedChange {
  /** Canonical and checked. */
  readonly url?: string;
  readonly events?: readonly string[];
  /** An empty one removes it. */
  readonly description?: string;
  readonly enabled?: boolean;
}

/** What the audit log keeps of a change; no URL, which may hold a customer's secret. */
export interface AuditedChange {
  /** Like `webhook.changed`. */
  readonly action: string;
  readonly data?: object;
}

type Work<T> = (endpoint: WebhookEndpoint, tx: Transaction) => Promise<T>;

/** Changes endpoints one after another, each in one transaction with its entry in the audit log. */
@Injectable()
export class WebhookChangesService {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly messages: WebhookMessagesRepository,
    private readonly audit: AuditService,
    private readonly database: Database,
  ) {}

  /** @throws NotFoundError, and what `work` throws; then nothing has changed */
  change<T>(principal: Principal, id: string, audited: AuditedChange, work: Work<T>): Promise<T> {
    return this.withLocked(principal, id, async (endpoint, tx) => {
      const result = await work(endpoint, tx);
      await this.record(principal, endpoint, audited, tx);
      return result;
    });
  }

  /** Work on an endpoint that does not change itself, and is not audited. @throws as `change` */
  withLocked<T>(tenant: Tenant, id: string, work: Work<T>): Promise<T> {
    return this.database.transaction(async (tx) => {
      const endpoint = await this.endpoints.lock(tenant, id, tx);
      if (!endpoint) throw new NotFoundError('Webhook');
      return work(endpoint, tx);
    });
  }

  /** What waited when the endpoint was disabled, and has not been swept yet: it starts with what happens from now on. */
  endWaiting(endpoint: WebhookEndpoint, tx: Transaction): Promise<void> {
    return this.messages.endAllOf(endpoint, ENDPOINT_DISABLED, tx);
  }

  /** What failed at an address that its owner has corrected is due now: its next attempts may be a day away. */
  async bringForward(
    { organizationId, mode, id: endpointId, failingSince }: WebhookEndpoint,
    now: Date,
    tx: Transaction,
  ): Promise<void> {
    if (failingSince === null) return;
    const endpoint = { organizationId, mode, endpointId };
    await this.messages.bringForward({ endpoint, failingSince, now, limit: MAX_WAITING }, tx);
  }

  /** @param check gets the number of endpoints there are @throws what `check` throws */
  add(principal: Principal, endpoint: WebhookEndpoint, check: (count: number) => void): Promise<void> {
    return this.database.transaction(async (tx) => {
      check(await this.endpoints.countAll(principal, tx));
      await this.endpoints.insert(endpoint, tx);
      await this.record(principal, endpoint, { action: 'webhook.created' }, tx);
    });
  }

  private async record(
    { organizationId, mode, apiKeyId: actor }: Principal,
    { id: targetId, url }: WebhookEndpoint,
    { action, data: details }: AuditedChange,
    tx: Transaction,
  ): Promise<void> {
    const data = { mode, host: new URL(url).host, ...details };
    await this.audit.record([{ organizationId, actor, action, targetType: 'webhook', targetId, data }], tx);
  }
}

/**
 * The columns that a requested change sets. An endpoint that is enabled again starts at `position`: earlier events come by a
 * replay only. A new address starts without failures.
 */
export function changeOf(
  endpoint: WebhookEndpoint,
  requested: RequestedChange,
  now: Date,
  position: string,
): Partial<WebhookEndpoint> {
  const { url, events, description, enabled } = requested;
  return {
    updatedAt: now,
    ...(url !== undefined && { url, ...(url !== endpoint.url && { failingSince: null }) }),
    ...(events && { events: [...events] }),
    ...(description !== undefined && { description: description || null }),
    ...(enabled === true && !endpoint.enabled && enabledAt(position)),
    ...(enabled === false && endpoint.enabled && disabledAt(now)),
  };
}

function enabledAt(position: string) {
  return { enabled: true, disabledReason: null, disabledAt: null, failingSince: null, position };
}

/** The columns of an endpoint that its owner disables. */
export function disabledAt(now: Date) {
  return { enabled: false, disabledReason: 'request' as const, disabledAt: now };
}
