import type { WebhookEndpoint } from './webhook-endpoint.entity';

/** What a customer may say about an endpoint; what is undefined stays. */
export interface WantedChange {
  /** Canonical and checked. */
  readonly url?: string;
  readonly events?: readonly string[];
  /** An empty one takes it away. */
  readonly description?: string;
  readonly enabled?: boolean;
}

/**
 * An endpoint that is enabled again begins at `position`: what happened meanwhile comes by a replay only. A new address
 * has no failures behind it.
 */
export function changeOf(
  endpoint: WebhookEndpoint,
  wanted: WantedChange,
  now: Date,
  position: string,
): Partial<WebhookEndpoint> {
  const { url, events, description, enabled } = wanted;
  return {
    updatedAt: now,
    ...(url !== undefined && { url, ...(url !== endpoint.url && { failingSince: null }) }),
    ...(events && { events: [...events] }),
    ...(description !== undefined && { description: description || null }),
    ...(enabled === true && !endpoint.enabled && enabledAt(position)),
    ...(enabled === false && endpoint.enabled && disabledAt(now)),
  };
}

function enabledAt(position: string) {
  return { enabled: true, disabledReason: null, disabledAt: null, failingSince: null, position };
}

export function disabledAt(now: Date) {
  return { enabled: false, disabledReason: 'request' as const, disabledAt: now };
}
