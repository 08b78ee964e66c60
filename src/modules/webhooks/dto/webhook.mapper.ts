import { INBOUND_RECEIVED } from '../../../common/event-types';
import { WEBHOOK_HEADERS } from '../webhook-queue';
import type { WebhookResponse } from '../webhook-response';
import type { DeliveriesView, DeliveryDetail } from '../webhook-deliveries.service';
import type { WebhookEndpoint, WebhookMessage } from '../webhook.entity';
import type { CreatedWebhook } from '../webhooks.service';
import type { ListDeliveriesQuery, WebhookDeliveryDetailDto, WebhookDeliveryDto } from './delivery.dto';
import type { CreatedWebhookDto, WebhookDto } from './webhook.dto';

export function toWebhookDto(endpoint: WebhookEndpoint): WebhookDto {
  const { id, url, events, enabled, description, domainId, disabledReason } = endpoint;
  return {
    ...{ id, url, events },
    ...(description !== null && { description }),
    ...(domainId !== null && { domainId }),
    enabled,
    ...(disabledReason !== null && { disabledReason }),
    ...(endpoint.disabledAt && { disabledAt: endpoint.disabledAt.toISOString() }),
    ...(endpoint.failingSince && { failingSince: endpoint.failingSince.toISOString() }),
    ...(endpoint.lastSuccessAt && { lastSuccessAt: endpoint.lastSuccessAt.toISOString() }),
    createdAt: endpoint.createdAt.toISOString(),
    updatedAt: endpoint.updatedAt.toISOString(),
  };
}

export function toCreatedDto({ endpoint, secret }: CreatedWebhook): CreatedWebhookDto {
  return { ...toWebhookDto(endpoint), secret };
}

export function toDeliveriesDto({ deliveries, hasMore }: DeliveriesView, { limit }: ListDeliveriesQuery) {
  const last = deliveries.at(-1);
  return {
    data: deliveries.map(toDeliveryDto),
    pagination: { limit, hasMore, ...(hasMore && last && { nextCursor: last.id }) },
  };
}

export function toDeliveryDetailDto({ message, url, payload }: DeliveryDetail): WebhookDeliveryDetailDto {
  const { id, lastAttemptAt, lastResponse, lastStatus } = message;
  const sentAt = lastAttemptAt && { 'webhook-timestamp': String(Math.floor(lastAttemptAt.getTime() / 1_000)) };
  const headers = { ...WEBHOOK_HEADERS, 'webhook-id': id, ...sentAt };
  return {
    ...toDeliveryDto(message),
    request: { url, headers, ...(payload !== undefined && { body: payload }) },
    ...(lastResponse && lastStatus !== null && { answer: toResponseDto(lastStatus, lastResponse) }),
  };
}

function toResponseDto(status: number, { headers, body, isCut, durationMs }: WebhookResponse) {
  return { status, headers: { ...headers }, body, truncated: isCut, durationMs };
}

function toDeliveryDto(message: WebhookMessage): WebhookDeliveryDto {
  const { id, eventType, emailId, sequence, state, attempts, lastStatus, lastError } = message;
  return {
    ...{ id, eventType },
    ...(emailId !== null && (eventType === INBOUND_RECEIVED ? { inboundEmailId: emailId } : { emailId })),
    ...(sequence !== null && sequence > 0 && { sequence }),
    ...{ state, attempts },
    ...(state === 'pending' && { nextAttemptAt: message.nextAttemptAt.toISOString() }),
    ...(message.lastAttemptAt && { lastAttemptAt: message.lastAttemptAt.toISOString() }),
    ...(lastStatus !== null && { lastStatus }),
    ...(lastError !== null && { lastError }),
    ...(message.deliveredAt && { deliveredAt: message.deliveredAt.toISOString() }),
    createdAt: message.createdAt.toISOString(),
  };
}
