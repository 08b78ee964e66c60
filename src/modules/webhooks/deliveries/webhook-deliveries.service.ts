import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../../common/clock';
import { AppError, type FieldErrors, NotFoundError, ValidationError } from '../../../common/errors/app-error';
import type { Principal } from '../../../common/http/principal';
import { firstIdAt, newId } from '../../../common/ids';
import type { Tenant } from '../../../common/tenant';
import type { Transaction } from '../../../database/statements/transaction';
import { EventsService } from '../../events/events.service';
import { WebhookChangesService } from '../endpoints/webhook-changes.service';
import type { WebhookEndpoint, WebhookMessage } from '../queue/webhook.entity';
import { WebhookEndpointsRepository, WebhookReplaysRepository } from '../queue/webhook-endpoints.repository';
import {
  type DeliveryFilter,
  type DeliveryPage,
  WebhookMessagesRepository,
} from '../queue/webhook-messages.repository';
import { MAX_WAITING, payloadOf } from '../queue/webhook-queue';

/** The event type of a test. */
export const TEST_EVENT_TYPE = 'webhook.test';

export interface DeliveriesView {
  readonly deliveries: readonly WebhookMessage[];
  readonly hasMore: boolean;
}

export interface DeliveryDetail {
  readonly message: WebhookMessage;
  /** Where the next attempt would go to. */
  readonly url: string;
  /** Undefined when the event that it is about is no more. */
  readonly payload: string | undefined;
}

/** When the events were recorded, start included. */
export interface ReplaySpan {
  readonly from: Date;
  /** Undefined: up to now. */
  readonly to?: Date;
}

const MAX_REPLAY_DAYS = 30;
/** Events whose messages are read in one statement. */
const ERASED_AT_ONCE = 1_000;

/** What has been, is and will be sent to an endpoint. */
@Injectable()
export class WebhookDeliveriesService {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly messages: WebhookMessagesRepository,
    private readonly replays: WebhookReplaysRepository,
    private readonly changes: WebhookChangesService,
    private readonly feed: EventsService,
    private readonly clock: Clock,
  ) {}

  /** Deletes the responses of endpoints to events of an erased person: a response may echo the request. */
  async eraseResponses(tenant: Tenant, eventIds: readonly string[], tx: Transaction): Promise<void> {
    for (let at = 0; at < eventIds.length; at += ERASED_AT_ONCE) {
      await this.messages.eraseResponses(tenant, eventIds.slice(at, at + ERASED_AT_ONCE), tx);
    }
  }

  /** Those of the newest events first. @throws NotFoundError */
  async list(tenant: Tenant, id: string, filter: DeliveryFilter, page: DeliveryPage): Promise<DeliveriesView> {
    const endpoint = await this.endpoints.find(tenant, id);
    if (!endpoint) throw new NotFoundError('Webhook');
    const found = await this.messages.page(endpoint, filter, { ...page, limit: page.limit + 1 });
    return { deliveries: found.slice(0, page.limit), hasMore: found.length > page.limit };
  }

  /** One delivery with its request and response. @throws NotFoundError */
  async detail(tenant: Tenant, id: string, deliveryId: string): Promise<DeliveryDetail> {
    const endpoint = await this.endpoints.find(tenant, id);
    if (!endpoint) throw new NotFoundError('Webhook');
    const message = await this.messages.findWithResponse(endpoint, deliveryId);
    if (!message) throw new NotFoundError('Delivery');
    const { organizationId, mode, emailId, sequence } = message;
    const isOfEvent = emailId !== null && sequence !== null;
    const [event] = await this.feed.find(isOfEvent ? [{ organizationId, mode, emailId, sequence }] : []);
    return { message, url: endpoint.url, payload: payloadOf(message, event) };
  }

  /** Returns the id of the message. @throws NotFoundError, AppError webhook_disabled, webhook_queue_full */
  sendTest(tenant: Tenant, id: string): Promise<string> {
    return this.withEnabled(tenant, id, async (endpoint, tx) => {
      await this.requireRoom(endpoint, tx);
      const message = { id: newId(), emailId: null, sequence: null, eventType: TEST_EVENT_TYPE };
      await this.messages.renew(endpoint, [message], this.clock.now(), tx);
      return message.id;
    });
  }

  /** From the first attempt on, whatever became of it; one that is being sent goes on, and begins anew where it fails. @throws as `sendTest` */
  redeliver(tenant: Tenant, id: string, deliveryId: string): Promise<void> {
    return this.withEnabled(tenant, id, async (endpoint, tx) => {
      const message = await this.messages.find(endpoint, deliveryId, tx);
      if (!message) throw new NotFoundError('Delivery');
      if (message.state !== 'pending') await this.requireRoom(endpoint, tx);
      await this.messages.renew(endpoint, [message], this.clock.now(), tx);
    });
  }

  /**
   * Requests that the events of a span are sent once more; a background job does it.
   * @throws NotFoundError, ValidationError, AppError webhook_disabled, webhook_replay_in_progress
   */
  async replay(principal: Principal, id: string, { from, to }: ReplaySpan): Promise<void> {
    const now = this.clock.now();
    const problems = problemsOf(from, to ?? now);
    if (Object.keys(problems).length > 0) throw new ValidationError(problems);
    // Events after this are sent anyway.
    const head = await this.feed.head();
    const endBefore = to && firstIdAt(to) < head ? firstIdAt(to) : head;
    const data = { from: from.toISOString(), ...(to && { to: to.toISOString() }) };
    await this.changes.change(principal, id, { action: 'webhook.replayed', data }, async (endpoint, tx) => {
      requireEnabled(endpoint);
      if (await this.replays.exists(endpoint, tx)) throw inProgress();
      const { organizationId, mode, id: endpointId } = endpoint;
      const replay = { organizationId, mode, endpointId, position: firstIdAt(from), endBefore, updatedAt: now };
      await this.replays.insert(replay, tx);
    });
  }

  private async requireRoom(endpoint: WebhookEndpoint, tx: Transaction): Promise<void> {
    if (!(await this.messages.hasWaiting(endpoint, MAX_WAITING, tx))) return;
    throw new AppError('webhook_queue_full', 'As many messages wait for the webhook as may wait', {
      suggestion: 'See why it fails in its deliveries, and repair it: what waits is then sent',
    });
  }

  private withEnabled<T>(
    tenant: Tenant,
    id: string,
    work: (endpoint: WebhookEndpoint, tx: Transaction) => Promise<T>,
  ): Promise<T> {
    return this.changes.withLocked(tenant, id, (endpoint, tx) => {
      requireEnabled(endpoint);
      return work(endpoint, tx);
    });
  }
}

/** @throws AppError webhook_disabled */
function requireEnabled({ enabled }: WebhookEndpoint): void {
  if (enabled) return;
  throw new AppError('webhook_disabled', 'The webhook is disabled: nothing is sent to it', {
    suggestion: 'Enable it first',
  });
}

function problemsOf(from: Date, to: Date): FieldErrors {
  const spanMs = to.getTime() - from.getTime();
  if (spanMs <= 0) return { from: ['from must be before to, which is now by default'] };
  return spanMs > MAX_REPLAY_DAYS * DAY ? { from: [`from and to must be at most ${MAX_REPLAY_DAYS} days apart`] } : {};
}

function inProgress(): AppError {
  return new AppError('webhook_replay_in_progress', 'An earlier replay to this webhook is still running', {
    suggestion: 'Ask again when the deliveries of that one have been made',
  });
}
