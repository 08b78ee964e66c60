import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { EventKey, FeedEvent, FeedStream } from './feed-event';
import { findFeedEvents, readEventFeed, readEventHorizon } from './sql/event-feed.sql';

@Injectable()
export class EventsRepository {
  constructor(private readonly database: Database) {}

  async horizon(): Promise<string> {
    const [row] = await this.database.run(readEventHorizon());
    return (row as { horizon: string }).horizon;
  }

  readAfter(
    streams: readonly FeedStream[],
    horizon: string,
    limitEach: number,
  ): Promise<(FeedEvent & { stream: number })[]> {
    return this.database.run(readEventFeed(streams, horizon, limitEach));
  }

  find(keys: readonly EventKey[]): Promise<FeedEvent[]> {
    return this.database.run(findFeedEvents(keys));
  }
}
