import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import { newId } from '../../common/ids';
import { EventsService } from '../events/events.service';
import { disabledAt, type WantedChange } from './webhook-change';
import { WebhookChanges } from './webhook-changes.service';
import type { WebhookEndpoint } from './webhook-endpoint.entity';
import type { WebhookHolder } from './webhook-endpoints.repository';
import { showSecret, WebhookSecrets } from './webhook-secrets.service';
import { WebhookTargets } from './webhook-targets.service';

export type NewWebhook = WantedChange & Required<Pick<WantedChange, 'url' | 'events'>>;

export interface CreatedWebhook {
  readonly endpoint: WebhookEndpoint;
  /** `whsec_…`, told this once. */
  readonly secret: string;
}

const MAX_ENDPOINTS = 10;

/** Makes endpoints. */
@Injectable()
export class WebhookCreation {
  constructor(
    private readonly changes: WebhookChanges,
    private readonly targets: WebhookTargets,
    private readonly secrets: WebhookSecrets,
    private readonly feed: EventsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Everything that happens after the answer is heard. A key that is bound to a domain makes an endpoint that is as well.
   * @throws ValidationError, AppError webhook_limit_reached
   */
  async create(holder: WebhookHolder, wanted: NewWebhook): Promise<CreatedWebhook> {
    const url = await this.targets.accept(wanted.url);
    const secret = this.secrets.create();
    const endpoint = this.newEndpoint(holder, { ...wanted, url }, secret, await this.feed.head());
    await this.changes.add(holder, endpoint, (held) => {
      if (held < MAX_ENDPOINTS) return;
      throw new AppError('webhook_limit_reached', `An organization has at most ${MAX_ENDPOINTS} webhooks in each mode`);
    });
    return { endpoint, secret: showSecret(secret) };
  }

  private newEndpoint(holder: WebhookHolder, wanted: NewWebhook, secret: Buffer, position: string): WebhookEndpoint {
    const { organizationId, mode, domainId = null } = holder;
    const now = this.clock.now();
    const owner = { organizationId, mode, id: newId() };
    return {
      ...owner,
      domainId,
      url: wanted.url,
      events: [...wanted.events],
      description: wanted.description || null,
      enabled: true,
      disabledReason: null,
      disabledAt: null,
      ...(wanted.enabled === false && disabledAt(now)),
      secret: this.secrets.seal(secret, owner),
      previousSecret: null,
      previousSecretUntil: null,
      position,
      failingSince: null,
      lastSuccessAt: null,
      createdAt: now,
      updatedAt: now,
    };
  }
}
