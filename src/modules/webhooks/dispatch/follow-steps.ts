import type { FeedEvent } from '../../events/events.service';
import { type Advance, type Follower, isSubscribed, type NewMessage } from '../queue/webhook-queue';

/** For each endpoint of a page that differs in where it stands. */
export const EVENTS = 100;
/** Of one organization in a page: fifty endpoints of one get ten each, so that they delay those of others for little. */
const MESSAGES_OF_ONE = 500;

/** An endpoint that passes events, with the messages made of them. */
export interface Step extends Advance {
  readonly follower: Follower;
  readonly messages: readonly NewMessage[];
  readonly isFull: boolean;
}

/** How many messages each endpoint gets of a page. */
export function messagesOfEach(followers: readonly Follower[]): (one: Follower) => number {
  const endpoints = new Map<string, number>();
  for (const { organizationId } of followers) endpoints.set(organizationId, (endpoints.get(organizationId) ?? 0) + 1);
  return ({ organizationId }) => Math.min(EVENTS, Math.ceil(MESSAGES_OF_ONE / (endpoints.get(organizationId) ?? 1)));
}

/** Nothing when there is nothing to read. */
export function stepOf(follower: Follower, page: readonly FeedEvent[], limit: number): Step[] {
  const { organizationId, mode, endpointId, position } = follower;
  const wanted = page.filter((event) => isSubscribed(follower, event, endpointId));
  const last = wanted.length > limit ? wanted[limit - 1] : page.at(-1);
  if (!last) return [];
  const messages = wanted
    .slice(0, limit)
    .map(({ id, emailId, sequence, eventType }) => ({ endpointId, id, emailId, sequence, eventType }));
  const advance = { organizationId, mode, endpointId, position, next: last.id };
  return [{ ...advance, follower, messages, isFull: wanted.length > limit || page.length === EVENTS }];
}

/** Those of one organization and mode that stand at the same event, together; never empty. */
export function groupByStream(followers: readonly Follower[]): [Follower, ...Follower[]][] {
  const groups = new Map<string, [Follower, ...Follower[]]>();
  for (const follower of followers) {
    const stream = `${follower.organizationId} ${follower.mode} ${follower.position}`;
    const group = groups.get(stream);
    if (group) group.push(follower);
    else groups.set(stream, [follower]);
  }
  return [...groups.values()];
}

export function pagesOf<Item>(items: readonly Item[], size: number): Item[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, at) => items.slice(at * size, (at + 1) * size));
}
