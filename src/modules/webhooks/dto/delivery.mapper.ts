import type { DeliveriesView } from '../webhook-deliveries.service';
import type { WebhookMessage } from '../webhook-message.entity';
import type { ListDeliveriesQuery, WebhookDeliveryDto } from './delivery.dto';

export function toDeliveriesDto({ deliveries, hasMore }: DeliveriesView, { limit }: ListDeliveriesQuery) {
  const last = deliveries.at(-1);
  return {
    data: deliveries.map(toDeliveryDto),
    pagination: { limit, hasMore, ...(hasMore && last && { nextCursor: last.id }) },
  };
}

function toDeliveryDto(message: WebhookMessage): WebhookDeliveryDto {
  const { id, eventType, emailId, sequence, state, attempts, lastStatus, lastError } = message;
  return {
    ...{ id, eventType },
    ...(emailId !== null && { emailId }),
    ...(sequence !== null && { sequence }),
    ...{ state, attempts },
    ...(state === 'pending' && { nextAttemptAt: message.nextAttemptAt.toISOString() }),
    ...(message.lastAttemptAt && { lastAttemptAt: message.lastAttemptAt.toISOString() }),
    ...(lastStatus !== null && { lastStatus }),
    ...(lastError !== null && { lastError }),
    ...(message.deliveredAt && { deliveredAt: message.deliveredAt.toISOString() }),
    createdAt: message.createdAt.toISOString(),
  };
}
