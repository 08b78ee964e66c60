import { Injectable } from '@nestjs/common';
import { EventFeedRepository } from './event-feed.repository';
import type { EventKey, FeedEvent, FeedStream } from './feed-event';

/**
 * The event log, followed from a position on: what has been read up to is an event id, and no event ever appears below
 * one that was given out, whatever commits late (docs/adr/0017).
 */
@Injectable()
export class EventFeedService {
  constructor(private readonly feed: EventFeedRepository) {}

  /** A position before all that will happen from now on. @throws UnavailableError */
  head(): Promise<string> {
    return this.feed.horizon();
  }

  /**
   * The next events of each stream, oldest first, by index into `streams`; at most `limitEach` of each.
   * @throws UnavailableError
   */
  async readAfter(streams: readonly FeedStream[], limitEach: number): Promise<FeedEvent[][]> {
    const pages: FeedEvent[][] = streams.map(() => []);
    if (streams.length === 0) return pages;
    const horizon = await this.feed.horizon();
    for (const { stream, ...event } of await this.feed.readAfter(streams, horizon, limitEach)) {
      pages[stream]?.push(event);
    }
    return pages;
  }

  /** The events that are still there, in no order. @throws UnavailableError */
  find(keys: readonly EventKey[]): Promise<FeedEvent[]> {
    return keys.length > 0 ? this.feed.find(keys) : Promise.resolve([]);
  }
}

export type { EventKey, FeedEvent, FeedStream } from './feed-event';
export { toPayload, type WebhookPayload } from './event-payload';
