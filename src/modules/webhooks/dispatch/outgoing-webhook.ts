import { type FeedEvent, toPayload, type WebhookPayload } from '../../events/events.service';
import type { ClaimedMessage } from './dispatched-message';

/** A claimed message with what it says, as JSON. */
export type OutgoingWebhook = ClaimedMessage & { readonly body: string };

/** Undefined when the event that it is about is no more. */
export function toOutgoing(message: ClaimedMessage, event: FeedEvent | undefined): OutgoingWebhook | undefined {
  if (message.emailId === null) return { ...message, body: JSON.stringify(testPayload(message)) };
  return event && { ...message, body: JSON.stringify(toPayload(event)) };
}

/** A test says nothing but that it is one. */
function testPayload({ eventType, createdAt, endpointId }: ClaimedMessage): WebhookPayload {
  return { type: eventType, timestamp: createdAt.toISOString(), data: { webhookId: endpointId } };
}
