import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { AppError, NotFoundError } from '../../common/errors/app-error';
import { newId } from '../../common/ids';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import { type DeliveryFilter, type DeliveryPage, WebhookDeliveriesRepository } from './webhook-deliveries.repository';
import type { WebhookEndpoint } from './webhook-endpoint.entity';
import { type WebhookHolder, WebhookEndpointsRepository } from './webhook-endpoints.repository';
import type { WebhookMessage } from './webhook-message.entity';

/** The event type of a test. */
export const TEST_EVENT_TYPE = 'webhook.test';

export interface DeliveriesView {
  readonly deliveries: readonly WebhookMessage[];
  readonly hasMore: boolean;
}

/** What has been, is and will be sent to an endpoint. */
@Injectable()
export class WebhookDeliveries {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly deliveries: WebhookDeliveriesRepository,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Those of the newest events first. @throws NotFoundError */
  async list(holder: WebhookHolder, id: string, filter: DeliveryFilter, page: DeliveryPage): Promise<DeliveriesView> {
    const endpoint = await this.endpoints.find(holder, id);
    if (!endpoint) throw new NotFoundError('Webhook');
    const found = await this.deliveries.page(endpoint, filter, { ...page, limit: page.limit + 1 });
    return { deliveries: found.slice(0, page.limit), hasMore: found.length > page.limit };
  }

  /** Answers the id of the message. @throws NotFoundError, AppError webhook_disabled */
  sendTest(holder: WebhookHolder, id: string): Promise<string> {
    return this.withEnabled(holder, id, async (endpoint, tx) => {
      const message = { id: newId(), emailId: null, sequence: null, eventType: TEST_EVENT_TYPE };
      await this.deliveries.renew(endpoint, [message], this.clock.now(), tx);
      return message.id;
    });
  }

  /** From the first attempt on, whatever became of it; one that is being sent goes on. @throws as `sendTest` */
  redeliver(holder: WebhookHolder, id: string, deliveryId: string): Promise<void> {
    return this.withEnabled(holder, id, async (endpoint, tx) => {
      const message = await this.deliveries.find(endpoint, deliveryId, tx);
      if (!message) throw new NotFoundError('Delivery');
      await this.deliveries.renew(endpoint, [message], this.clock.now(), tx);
    });
  }

  private withEnabled<T>(
    holder: WebhookHolder,
    id: string,
    work: (endpoint: WebhookEndpoint, tx: Transaction) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(async (tx) => {
      const endpoint = await this.endpoints.lock(holder, id, tx);
      if (!endpoint) throw new NotFoundError('Webhook');
      requireEnabled(endpoint);
      return work(endpoint, tx);
    });
  }
}

/** @throws AppError webhook_disabled */
export function requireEnabled({ enabled }: WebhookEndpoint): void {
  if (enabled) return;
  throw new AppError('webhook_disabled', 'The webhook is disabled: nothing is sent to it', {
    suggestion: 'Enable it first',
  });
}
