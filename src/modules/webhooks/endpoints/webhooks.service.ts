import { Injectable } from '@nestjs/common';
import { Clock, HOUR } from '../../../common/clock';
import { AppError, NotFoundError } from '../../../common/errors/app-error';
import type { Principal } from '../../../common/http/principal';
import { newId } from '../../../common/ids';
import type { Tenant } from '../../../common/tenant';
import { EventsService } from '../../events/events.service';
import { changeOf, disabledAt, type RequestedChange, WebhookChangesService } from './webhook-changes.service';
import type { WebhookEndpoint } from '../queue/webhook.entity';
import { WebhookEndpointsRepository } from '../queue/webhook-endpoints.repository';
import { showSecret, WebhookSecrets } from './webhook-secrets.service';
import { WebhookUrlService } from './webhook-url.service';

export type NewWebhook = RequestedChange & Required<Pick<RequestedChange, 'url' | 'events'>>;

export interface CreatedWebhook {
  readonly endpoint: WebhookEndpoint;
  /** `whsec_…`, shown this once. */
  readonly secret: string;
}

/** In each mode: far more than anybody uses, few enough for a list of one page. */
export const MAX_ENDPOINTS = 50;
/** Receivers check signatures with either secret meanwhile. */
const SECRET_OVERLAP_MS = 24 * HOUR;

/** The endpoints of an organization, which receive its events. */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly changes: WebhookChangesService,
    private readonly urls: WebhookUrlService,
    private readonly secrets: WebhookSecrets,
    private readonly feed: EventsService,
    private readonly clock: Clock,
  ) {}

  /** Oldest first. */
  list(tenant: Tenant): Promise<WebhookEndpoint[]> {
    return this.endpoints.list(tenant);
  }

  /** @throws NotFoundError */
  async get(tenant: Tenant, id: string): Promise<WebhookEndpoint> {
    const endpoint = await this.endpoints.find(tenant, id);
    if (!endpoint) throw new NotFoundError('Webhook');
    return endpoint;
  }

  /**
   * It receives all events recorded after this returns. A key that is bound to a domain creates an endpoint that is bound as
   * well.
   * @throws ValidationError, AppError webhook_limit_reached
   */
  async create(principal: Principal, requested: NewWebhook): Promise<CreatedWebhook> {
    const url = await this.urls.accept(requested.url);
    const secret = this.secrets.create();
    const endpoint = this.newEndpoint(principal, { ...requested, url }, secret, await this.feed.head());
    await this.changes.add(principal, endpoint, (count) => {
      if (count < MAX_ENDPOINTS) return;
      throw new AppError('webhook_limit_reached', `An organization has at most ${MAX_ENDPOINTS} webhooks in each mode`);
    });
    return { endpoint, secret: showSecret(secret) };
  }

  /** @throws NotFoundError, ValidationError */
  async update(principal: Principal, id: string, requested: RequestedChange): Promise<WebhookEndpoint> {
    const found = await this.get(principal, id);
    const fields = Object.keys(requested).filter((field) => requested[field as keyof RequestedChange] !== undefined);
    if (fields.length === 0) return found;
    const { url } = requested;
    const checked = url === undefined ? requested : { ...requested, url: await this.urls.accept(url) };
    const position = await this.feed.head();
    const audited = { action: 'webhook.changed', data: { fields } };
    return this.changes.change(principal, id, audited, async (endpoint, tx) => {
      const now = this.clock.now();
      const change = changeOf(endpoint, checked, now, position);
      await this.endpoints.update(endpoint, change, tx);
      if (change.enabled === true) await this.changes.endWaiting(endpoint, tx);
      if (change.url !== undefined && change.url !== endpoint.url) await this.changes.bringForward(endpoint, now, tx);
      return { ...endpoint, ...change };
    });
  }

  /**
   * The secret before signs for another 24 hours, the one before that no longer. A damaged one is dropped: while it was in force,
   * nothing could be sent. @throws NotFoundError
   */
  rotateSecret(principal: Principal, id: string): Promise<CreatedWebhook> {
    const secret = this.secrets.create();
    return this.changes.change(principal, id, { action: 'webhook.secret_rotated' }, async (endpoint, tx) => {
      const now = this.clock.now();
      const isKept = !this.secrets.isDamaged(endpoint.secret, endpoint);
      const change = {
        secret: this.secrets.encrypt(secret, endpoint),
        previousSecret: isKept ? endpoint.secret : null,
        previousSecretUntil: isKept ? new Date(now.getTime() + SECRET_OVERLAP_MS) : null,
        updatedAt: now,
      };
      await this.endpoints.update(endpoint, change, tx);
      return { endpoint: { ...endpoint, ...change }, secret: showSecret(secret) };
    });
  }

  /** No more is claimed for it; what a dispatcher holds is sent within seconds. @throws NotFoundError */
  remove(principal: Principal, id: string): Promise<void> {
    return this.changes.change(principal, id, { action: 'webhook.deleted' }, (endpoint, tx) =>
      this.endpoints.delete(endpoint, tx),
    );
  }

  private newEndpoint(tenant: Tenant, requested: NewWebhook, secret: Buffer, position: string): WebhookEndpoint {
    const { organizationId, mode, domainId = null } = tenant;
    const now = this.clock.now();
    const key = { organizationId, mode, id: newId() };
    return {
      ...key,
      domainId,
      url: requested.url,
      events: [...requested.events],
      description: requested.description || null,
      enabled: true,
      disabledReason: null,
      disabledAt: null,
      ...(requested.enabled === false && disabledAt(now)),
      secret: this.secrets.encrypt(secret, key),
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
