import { Injectable } from '@nestjs/common';
import { firstIdAt } from '../../common/ids';
import type { Tenant } from '../../common/tenant';
import { EventsRepository } from './events.repository';
import type { EventKey, FeedEvent, FeedStream } from './feed-event';

/** The start of a pull: after an event, or at a time; undefined: with the first event. */
export type PullStart = string | Date | undefined;

export interface PulledEvents {
  readonly events: readonly FeedEvent[];
  /** Where to go on, now or later. */
  readonly next: string;
  /** Whether there is more to be read at once. */
  readonly hasMore: boolean;
}

/** Events read for a key that is bound to a domain; a page may be short, or empty, and the cursor moves on. */
const SCAN = 1_000;

/**
 * The event log, followed from a position on: what has been read up to is an event id, and no event ever appears below
 * one that was given out, whatever commits late (docs/adr/0017).
 */
@Injectable()
export class EventsService {
  constructor(private readonly events: EventsRepository) {}

  /** A position before all that will happen from now on. @throws UnavailableError */
  head(): Promise<string> {
    return this.events.horizon();
  }

  /**
   * The next events of each stream, oldest first, by index into `streams`; at most `limitEach` of each.
   * @throws UnavailableError
   */
  async readAfter(streams: readonly FeedStream[], limitEach: number): Promise<FeedEvent[][]> {
    return streams.length > 0 ? this.events.readAfter(streams, await this.events.horizon(), limitEach) : [];
  }

  /** The events that are still there, in no order. @throws UnavailableError */
  find(keys: readonly EventKey[]): Promise<FeedEvent[]> {
    return keys.length > 0 ? this.events.find(keys) : Promise.resolve([]);
  }

  /** A client's page: oldest first, each event once, whatever is written meanwhile. @throws UnavailableError */
  async pull({ organizationId, mode, domainId }: Tenant, start: PullStart, limit: number): Promise<PulledEvents> {
    const after = typeof start === 'string' ? start : firstIdAt(start ?? new Date(0));
    const wanted = domainId === undefined ? limit + 1 : SCAN;
    const [read = []] = await this.readAfter([{ organizationId, mode, after }], wanted);
    const own = domainId === undefined ? read : read.filter((event) => event.domainId === domainId);
    const events = own.slice(0, limit);
    const last = own.length > limit ? events.at(-1) : read.at(-1);
    return { events, next: last?.id ?? after, hasMore: own.length > limit || read.length === wanted };
  }
}

export { toPayload } from './feed-event';
export type { EventKey, FeedEvent, FeedStream, WebhookPayload } from './feed-event';
