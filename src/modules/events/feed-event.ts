import { INBOUND_RECEIVED } from '../../common/event-types';
import type { EmailKey } from '../../delivery/ports/delivery';
import { withPresentPhase } from '../../delivery/ports/attempt-trace';

/** An event as clients read it, by webhook or by the pull feed. */
export interface FeedEvent extends EmailKey {
  /** Version 7; later events have greater ids, those of one email too. */
  readonly id: string;
  readonly domainId: string;
  /** Counts the email's events from 1; 0 for inbound mail. */
  readonly sequence: number;
  readonly eventType: string;
  readonly source: string;
  readonly occurredAt: Date;
  readonly data: Readonly<Record<string, unknown>>;
  readonly tags: readonly string[] | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** The only webhook that receives it, as an inbound route may name one; else null. */
  readonly webhookId?: string | null;
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
  /** `email.<eventType>`, `inbound.received`, or `webhook.test`. */
  readonly type: string;
  /** When it happened, ISO 8601. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The event's own data come first, so that they cannot replace the email's id or the sequence. */
export function toPayload(event: FeedEvent): WebhookPayload {
  if (event.eventType === INBOUND_RECEIVED) return toInboundPayload(event);
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

/** The mail's id is no email's. Bodies and attachments are read under it: a webhook would carry 25 MiB. */
function toInboundPayload({ id, domainId, eventType, source, occurredAt, data }: FeedEvent): WebhookPayload {
  return {
    type: eventType,
    timestamp: occurredAt.toISOString(),
    data: { ...data, eventId: id, inboundEmailId: id, domainId, eventType, source },
  };
}
