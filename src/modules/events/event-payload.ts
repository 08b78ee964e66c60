import type { FeedEvent } from './feed-event';

/** What a receiver gets, and what the pull feed lists. */
export interface WebhookPayload {
  /** `email.<eventType>`, or `webhook.test`. */
  readonly type: string;
  /** When it happened, ISO 8601. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What an event says of itself comes first, so that nothing in it can pass for the email's id or the sequence. */
export function toPayload(event: FeedEvent): WebhookPayload {
  const { emailId, domainId, sequence, eventType, source, tags, metadata } = event;
  return {
    type: `email.${eventType}`,
    timestamp: event.occurredAt.toISOString(),
    data: {
      ...event.data,
      ...{ eventId: event.id, emailId, domainId, sequence, eventType, source },
      ...(tags && { tags }),
      ...(metadata && { metadata }),
    },
  };
}
