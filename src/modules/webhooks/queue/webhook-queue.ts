import { MINUTE } from '../../../common/clock';
import type { Mode } from '../../../common/tenant';
import { type FeedEvent, toPayload, type WebhookPayload } from '../../events/events.service';
import type { WebhookEndpoint, WebhookMessage, WebhookResponse } from './webhook.entity';

/** Of one endpoint: while so many wait to be sent, its further events wait in the event log, which is there anyway. */
export const MAX_PENDING = 10_000;
/** What may wait beyond that because it was asked for: a backlog of events must not prevent the test of an endpoint that was repaired. */
export const MAX_REQUESTED = 1_000;
/** All that may wait for one endpoint. */
export const MAX_WAITING = MAX_PENDING + MAX_REQUESTED;

/** How long a process has what it claims. An attempt takes a quarter of it at most (`EgressClient`). */
export const CLAIM_MS = MINUTE;
/** Why a message has ended that waited for an endpoint which was disabled meanwhile. */
export const ENDPOINT_DISABLED = 'endpoint_disabled';

/** Which events an endpoint receives. */
export type Subscription = Pick<WebhookEndpoint, 'events' | 'domainId'>;

/** Subscribes to all types, future ones included. */
export const EVERY_TYPE = '*';

/** @param endpointId the endpoint's own: an event that names a webhook is for that one, whatever it subscribes to */
export function isSubscribed(
  { events, domainId }: Subscription,
  event: Pick<FeedEvent, 'eventType' | 'domainId' | 'webhookId'>,
  endpointId?: string,
): boolean {
  if (event.webhookId) return event.webhookId === endpointId;
  const isWanted = events.includes(EVERY_TYPE) || events.includes(event.eventType);
  return isWanted && (domainId === null || domainId === event.domainId);
}

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

/** A test contains nothing but a note that it is one. */
function testPayload({
  eventType,
  createdAt,
  endpointId,
}: Pick<WebhookMessage, 'eventType' | 'createdAt' | 'endpointId'>): WebhookPayload {
  return { type: eventType, timestamp: createdAt.toISOString(), data: { webhookId: endpointId } };
}

export interface EndpointKey {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly endpointId: string;
}

/** An enabled endpoint, as it follows the event feed. */
export type Follower = EndpointKey & Readonly<Pick<WebhookEndpoint, 'position' | 'events' | 'domainId'>>;

/** An endpoint that moves on from one position to the next. */
export interface Advance extends EndpointKey {
  readonly position: string;
  readonly next: string;
}

export interface NewMessage {
  readonly endpointId: string;
  readonly id: string;
  readonly emailId: string;
  readonly sequence: number;
  readonly eventType: string;
}

/** What a process may send, until `claimedUntil`: that time also distinguishes its claim from a later one. */
export type ClaimedMessage = EndpointKey &
  Readonly<Pick<WebhookMessage, 'id' | 'emailId' | 'sequence' | 'eventType' | 'attempts' | 'createdAt'>> &
  Readonly<Pick<WebhookEndpoint, 'url' | 'secret' | 'previousSecret' | 'previousSecretUntil' | 'failingSince'>> & {
    readonly claimedUntil: Date;
  };

/** How many messages of an endpoint may be claimed now. */
export interface FreeSlots {
  readonly endpointId: string;
  readonly free: number;
}

/** How many messages of an organization may be claimed now. */
export interface OrganizationShare {
  readonly organizationId: string;
  readonly free: number;
}

/** The effect of an attempt on the endpoint: `gone` is final. */
export type EndpointResult = 'succeeded' | 'failed' | 'gone';

/** What is written of a claimed message. */
export interface SettledMessage {
  readonly message: ClaimedMessage;
  readonly state: 'delivered' | 'pending' | 'failed';
  /** False when nothing was sent: the attempt does not count. */
  readonly isCharged: boolean;
  /** Null leaves it as it was. */
  readonly nextAttemptAt: Date | null;
  readonly status: number | null;
  readonly error: string | null;
  /** Null without a response. */
  readonly response: WebhookResponse | null;
  readonly deliveredAt: Date | null;
  /** Undefined when it shows nothing about the endpoint. */
  readonly result: EndpointResult | undefined;
}
