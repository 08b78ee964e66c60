import type { WebhookDelivery } from '../../api/types';
import { now } from '../../api/service-clock';

const SOON_MS = 10_000;

/** True while it is being sent, and shortly before: something is about to change. */
export function isMoving({ state, nextAttemptAt }: Pick<WebhookDelivery, 'state' | 'nextAttemptAt'>): boolean {
  if (state !== 'pending') return state === 'sending';
  return nextAttemptAt === undefined || new Date(nextAttemptAt).getTime() <= now() + SOON_MS;
}

/** How often to load a delivery, in milliseconds; not at all once it has ended. */
export function freshMs(delivery: WebhookDelivery | undefined): number | false {
  if (delivery === undefined || delivery.state === 'delivered' || delivery.state === 'failed') return false;
  return isMoving(delivery) ? 1_000 : 5_000;
}
