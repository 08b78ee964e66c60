import { type FeedEvent, toPayload, type WebhookPayload } from '../events/events.service';
import type { WebhookMessage } from './webhook.entity';

/** Headers of every webhook, beside those of Standard Webhooks. */
export const WEBHOOK_HEADERS = { 'content-type': 'application/json', 'user-agent': 'Waybill-Webhooks/1.0' } as const;

/** The JSON that a message is sent with; undefined when the event that it is about is no more. */
export function payloadOf(
  message: Pick<WebhookMessage, 'emailId' | 'eventType' | 'createdAt' | 'endpointId'>,
  event: FeedEvent | undefined,
): string | undefined {
  if (message.emailId === null) return JSON.stringify(testPayload(message));
  return event && JSON.stringify(toPayload(event));
}

/** A test says nothing but that it is one. */
function testPayload({
  eventType,
  createdAt,
  endpointId,
}: Pick<WebhookMessage, 'eventType' | 'createdAt' | 'endpointId'>): WebhookPayload {
  return { type: eventType, timestamp: createdAt.toISOString(), data: { webhookId: endpointId } };
}
