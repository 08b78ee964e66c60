import type { CompactEvent } from './event-rows';
import { INBOUND_RECEIVED } from '../../common/event-types';
import type { EmailKey } from '../../delivery/ports/delivery';

/** An event as clients read it, by webhook or by the pull feed. */
export interface FeedEvent extends EmailKey {
  /** UUID version 7; later events have greater ids, also within one email. */
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
  /** The only webhook that receives the event, when an inbound route names one; else null. */
  readonly webhookId?: string | null;
}

/** A row that records one or several events. */
export type FeedRow = FeedEvent & CompactEvent;

/** One organization's events of one mode, after a position. */
export interface FeedStream {
  readonly organizationId: string;
  readonly mode: EmailKey['mode'];
  /** The id of the last event seen, or `firstIdAt` of a time. */
  readonly after: string;
  /** Leaves out the events of received mail. */
  readonly isWithoutInbound?: boolean;
}

/** Names one event. */
export interface EventKey extends EmailKey {
  readonly sequence: number;
}

/** The body of a webhook, and an entry of the pull feed. */
export interface WebhookPayload {
  /** `email.<eventType>`, `inbound.received`, or `webhook.test`. */
  readonly type: string;
  /** When it happened, ISO 8601. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Converts an event. Its own data is spread first, so that it cannot overwrite the email's id or the sequence. */
export function toPayload(event: FeedEvent): WebhookPayload {
  if (event.eventType === INBOUND_RECEIVED) return toInboundPayload(event);
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

/** The id names an inbound email. Bodies and attachments (up to 25 MiB) are not in the payload, but read under that id. */
function toInboundPayload({ id, domainId, eventType, source, occurredAt, data }: FeedEvent): WebhookPayload {
  return {
    type: eventType,
    timestamp: occurredAt.toISOString(),
    data: { ...data, eventId: id, inboundEmailId: id, domainId, eventType, source },
  };
}
