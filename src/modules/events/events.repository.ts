import { Injectable } from '@nestjs/common';
import { groupByTenant } from '../../common/tenant';
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

  /** The next events of each stream, in order. */
  readAfter(streams: readonly FeedStream[], horizon: string, limitEach: number): Promise<FeedEvent[][]> {
    return this.database.runAll(streams.map((stream) => readEventFeed(stream, horizon, limitEach)));
  }

  async find(keys: readonly EventKey[]): Promise<FeedEvent[]> {
    const statements = groupByTenant(keys).map(({ tenant, rows }) => findFeedEvents(tenant, rows));
    return (await this.database.runAll(statements)).flat();
  }
}
