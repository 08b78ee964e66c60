import type { FeedEvent } from '../events/events.service';
import type { WebhookEndpoint } from './webhook.entity';

/** Which events an endpoint receives. */
export type Subscription = Pick<WebhookEndpoint, 'events' | 'domainId'>;

/** Subscribes to all types, those that will be added as well. */
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
