import { Injectable } from '@nestjs/common';
import { expandEvents, MOST_LEADS } from './event-rows';
import { idPlus } from '../../common/ids';
import { groupByTenant, acrossTenants } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import type { EventKey, FeedEvent, FeedRow, FeedStream } from './feed-event';
import {
  findFeedEvents,
  findInboundEvents,
  INBOUND_SEQUENCE,
  readEventFeed,
  readEventFeedBack,
  readEventHorizon,
  readInboundFeedBack,
  readInboundFeeds,
  type StreamRow,
} from './sql/event-feed.sql';

/** The event log in the order of ids, up to the horizon (docs/adr/0017). */
@Injectable()
export class EventsRepository {
  constructor(private readonly database: Database) {}

  /** Read with the service's own role: the role of requests cannot see the transactions of others, which may still commit events. */
  async horizon(): Promise<string> {
    const [row] = await acrossTenants(() => this.database.run(readEventHorizon()));
    return (row as { horizon: string }).horizon;
  }

  /** The next events of each stream, in order. Its two statements are consistent: nothing is added below the horizon. */
  async readAfter(streams: readonly FeedStream[], horizon: string, limitEach: number): Promise<FeedEvent[][]> {
    const ofMail = streams.filter(({ isWithoutInbound }) => !isWithoutInbound);
    const parts = await this.database.runAll<FeedRow | StreamRow>([
      ...streams.map((stream) => readEventFeed(stream, horizon, limitEach)),
      readInboundFeeds(ofMail, horizon, limitEach),
    ]);
    const mail = (parts[streams.length] ?? []) as StreamRow[];
    return streams.map((one, n) => {
      const inbound = mail.filter(({ stream }) => ofMail[stream - 1] === one);
      const events = toEvents(merge(parts[n] ?? [], inbound));
      // The position may be at an event in the middle of a row.
      return events.filter(({ id }) => id > one.after).slice(0, limitEach);
    });
  }

  /** The last events of a stream before a position, or before the horizon: the newest first. */
  async readBack(stream: FeedStream, before: string | undefined, horizon: string, limit: number): Promise<FeedEvent[]> {
    // The position may be at an event in the middle of a row, which has the id of its last one.
    const isWithin = before !== undefined && before < horizon;
    const end = isWithin ? idPlus(before, MOST_LEADS + 1) : horizon;
    // Of that row nothing may be left.
    const rows = limit + 1;
    const [events = [], mail = []] = await this.database.runAll([
      readEventFeedBack(stream, end, rows),
      ...(stream.isWithoutInbound ? [] : [readInboundFeedBack(stream, end, rows)]),
    ]);
    const found = toEvents(merge(events.toReversed(), mail)).toReversed();
    return found.filter(({ id }) => !isWithin || id < before).slice(0, limit);
  }

  async find(keys: readonly EventKey[]): Promise<FeedEvent[]> {
    const isMail = ({ sequence }: EventKey) => sequence === INBOUND_SEQUENCE;
    const ofEmails = groupByTenant(keys.filter((key) => !isMail(key)));
    const ofMail = groupByTenant(keys.filter(isMail));
    const statements = [
      ...ofEmails.map(({ tenant, rows }) => findFeedEvents(tenant, rows)),
      ...ofMail.map(({ tenant, rows }) => findInboundEvents(tenant, rows)),
    ];
    const found = toEvents((await this.database.runAll(statements)).flat());
    const wanted = new Set(keys.map(nameOf));
    return [...new Map(found.filter((event) => wanted.has(nameOf(event))).map((event) => [event.id, event])).values()];
  }
}

function toEvents(rows: readonly FeedRow[]): FeedEvent[] {
  return expandEvents(rows).map(({ sendingMs: _ms, alsoSent: _sent, ...event }) => event);
}

function nameOf({ emailId, sequence }: EventKey): string {
  return `${emailId} ${sequence}`;
}

/** Merges both lists by id; inbound mail is rare compared with the events of emails. */
function merge(events: FeedRow[], mail: FeedRow[]): FeedRow[] {
  if (mail.length === 0) return events;
  return [...events, ...mail].sort((one, other) => (one.id < other.id ? -1 : 1));
}
