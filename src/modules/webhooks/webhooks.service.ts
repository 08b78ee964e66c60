import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { NotFoundError } from '../../common/errors/app-error';
import { EventsService } from '../events/events.service';
import { changeOf, type WantedChange } from './webhook-change';
import { WebhookChanges } from './webhook-changes.service';
import type { WebhookEndpoint } from './webhook-endpoint.entity';
import { type WebhookHolder, WebhookEndpointsRepository } from './webhook-endpoints.repository';
import { WebhookTargets } from './webhook-targets.service';

/** The endpoints of an organization, which hear of its events. */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly changes: WebhookChanges,
    private readonly targets: WebhookTargets,
    private readonly feed: EventsService,
    private readonly clock: Clock,
  ) {}

  /** Oldest first. */
  list(holder: WebhookHolder): Promise<WebhookEndpoint[]> {
    return this.endpoints.list(holder);
  }

  /** @throws NotFoundError */
  async get(holder: WebhookHolder, id: string): Promise<WebhookEndpoint> {
    const endpoint = await this.endpoints.find(holder, id);
    if (!endpoint) throw new NotFoundError('Webhook');
    return endpoint;
  }

  /** @throws NotFoundError, ValidationError */
  async update(holder: WebhookHolder, id: string, wanted: WantedChange): Promise<WebhookEndpoint> {
    await this.get(holder, id);
    const checked = wanted.url === undefined ? wanted : { ...wanted, url: await this.targets.accept(wanted.url) };
    const position = await this.feed.head();
    const fields = Object.keys(wanted).filter((field) => wanted[field as keyof WantedChange] !== undefined);
    return this.changes.change(holder, id, { action: 'webhook.changed', data: { fields } }, async (endpoint, tx) => {
      const change = changeOf(endpoint, checked, this.clock.now(), position);
      await this.endpoints.update(endpoint, change, tx);
      return { ...endpoint, ...change };
    });
  }

  /** Nothing is sent to it any more from now on. @throws NotFoundError */
  remove(holder: WebhookHolder, id: string): Promise<void> {
    return this.changes.change(holder, id, { action: 'webhook.deleted' }, (endpoint, tx) =>
      this.endpoints.delete(endpoint, tx),
    );
  }
}
