import type { EmailEvent } from './email-event.entity';

type Timed = Pick<EmailEvent, 'sequence' | 'occurredAt' | 'data'>;

/**
 * Oldest first. What is known of one recipient stays in the order in which it was recorded, and after what concerns the whole
 * email: times come from several clocks, and by their times alone a mail could be delivered before it was queued.
 * @param recorded by sequence
 */
export function oldestFirst<E extends Timed>(recorded: readonly E[]): E[] {
  const latestOf = new Map<unknown, number>();
  let latestOfAll = -Infinity;
  const placed = recorded.map((event) => {
    const { recipient } = event.data;
    const atMs = Math.max(event.occurredAt.getTime(), latestOfAll, latestOf.get(recipient) ?? -Infinity);
    if (recipient === undefined) latestOfAll = atMs;
    else latestOf.set(recipient, atMs);
    return { event, atMs };
  });
  placed.sort((one, other) => one.atMs - other.atMs || one.event.sequence - other.event.sequence);
  return placed.map(({ event }) => event);
}
