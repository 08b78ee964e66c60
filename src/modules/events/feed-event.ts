import type { EmailKey } from '../../delivery/ports/delivery';
import { withPresentPhase } from '../../delivery/ports/smtp-phase';

/** An event as clients read it, by webhook or by the pull feed. */
export interface FeedEvent extends EmailKey {
  /** Version 7; later events have greater ids, those of one email too. */
  readonly id: string;
  readonly domainId: string;
  /** Counts the email's events from 1. */
  readonly sequence: number;
  readonly eventType: string;
  readonly source: string;
  readonly occurredAt: Date;
  readonly data: Readonly<Record<string, unknown>>;
  readonly tags: readonly string[] | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

/** One organization's events of one mode, from a position on. */
export interface FeedStream {
  readonly organizationId: string;
  readonly mode: EmailKey['mode'];
  /** The id of the last event seen, or `firstIdAt` of a time. */
  readonly after: string;
}

/** Names one event. */
export interface EventKey extends EmailKey {
  readonly sequence: number;
}

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
      ...withPresentPhase(event.data),
      ...{ eventId: event.id, emailId, domainId, sequence, eventType, source },
      ...(tags && { tags }),
      ...(metadata && { metadata }),
    },
  };
}
