import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../common/errors/app-error';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import { AuditService } from '../../audit/audit.service';
import type { WebhookEndpoint } from './webhook-endpoint.entity';
import { type WebhookHolder, WebhookEndpointsRepository } from './webhook-endpoints.repository';

/** What is written down about a change; no URL, which may hold a customer's secret. */
export interface NotedChange {
  /** Like `webhook.changed`. */
  readonly action: string;
  readonly data?: object;
}

/** Changes endpoints one after another, and writes down who did it, in one transaction. */
@Injectable()
export class WebhookChanges {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly audit: AuditService,
    private readonly database: Database,
  ) {}

  /** @throws NotFoundError, and what `work` throws; then nothing has changed */
  change<T>(
    holder: WebhookHolder,
    id: string,
    note: NotedChange,
    work: (endpoint: WebhookEndpoint, tx: Transaction) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(async (tx) => {
      const endpoint = await this.endpoints.lock(holder, id, tx);
      if (!endpoint) throw new NotFoundError('Webhook');
      const result = await work(endpoint, tx);
      await this.record(holder, endpoint, note, tx);
      return result;
    });
  }

  /** @param work decides whether there is room for it @throws what `work` throws */
  add(holder: WebhookHolder, endpoint: WebhookEndpoint, work: (held: number) => void): Promise<void> {
    return this.database.transaction(async (tx) => {
      work(await this.endpoints.countHeld(holder, tx));
      await this.endpoints.insert(endpoint, tx);
      await this.record(holder, endpoint, { action: 'webhook.created' }, tx);
    });
  }

  private async record(
    { organizationId, mode, apiKeyId: actor }: WebhookHolder,
    { id: targetId, url }: WebhookEndpoint,
    { action, data }: NotedChange,
    tx: Transaction,
  ): Promise<void> {
    const said = { mode, host: new URL(url).host, ...data };
    await this.audit.record([{ organizationId, actor, action, targetType: 'webhook', targetId, data: said }], tx);
  }
}
