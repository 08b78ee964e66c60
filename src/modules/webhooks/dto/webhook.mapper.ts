import type { CreatedWebhook } from '../webhook-creation.service';
import type { WebhookEndpoint } from '../webhook-endpoint.entity';
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
