import { Injectable } from '@nestjs/common';
import { firstIdAt } from '../../common/ids';
import type { Tenant } from '../../common/tenant';
import { EventsRepository } from './events.repository';
import type { EventKey, FeedEvent, FeedStream } from './feed-event';

/** Where a pull starts: after an event id, or at a time; undefined: at the first event. */
export type PullStart = string | Date | undefined;

export interface PulledEvents {
  readonly events: readonly FeedEvent[];
  /** The cursor for the next pull. */
  readonly next: string;
  /** Whether there are further events already. */
  readonly hasMore: boolean;
}

/** The key that pulls. */
type Reader = Tenant & { readonly scopes: ReadonlySet<string> };

/** Events scanned for a key that is bound to a domain: a page may be short or empty, while the cursor moves on. */
const SCAN = 1_000;

/**
 * Follows the event log. The position is an event id, and no event ever appears below an id that was returned, even when
 * transactions commit late (docs/adr/0017).
 */
@Injectable()
export class EventsService {
  constructor(private readonly events: EventsRepository) {}

  /** The position before all events recorded from now on. @throws UnavailableError */
  head(): Promise<string> {
    return this.events.horizon();
  }

  /**
   * The next events of each stream, oldest first, by index into `streams`; at most `limitEach` of each.
   * @param head the present one, where the caller has read it
   * @throws UnavailableError
   */
  async readAfter(streams: readonly FeedStream[], limitEach: number, head?: string): Promise<FeedEvent[][]> {
    return streams.length > 0 ? this.events.readAfter(streams, head ?? (await this.head()), limitEach) : [];
  }

  /** The events that still exist, in no particular order. @throws UnavailableError */
  find(keys: readonly EventKey[]): Promise<FeedEvent[]> {
    return keys.length > 0 ? this.events.find(keys) : Promise.resolve([]);
  }

  /**
   * One page for a client: oldest first, each event exactly once over all pages. Those of received mail need the scope to read it.
   * @throws UnavailableError
   */
  async pull(reader: Reader, start: PullStart, limit: number): Promise<PulledEvents> {
    const after = typeof start === 'string' ? start : firstIdAt(start ?? new Date(0));
    const wanted = wantedFor(reader, limit);
    const [read = []] = await this.readAfter([streamOf(reader, after)], wanted);
    return pageOf(reader, { read, wanted, limit, position: after });
  }

  /**
   * The same, newest first. Events that are recorded meanwhile are on no further page: they come after the first one's newest.
   * @param before a position, or undefined: from the newest on @throws UnavailableError
   */
  async pullBack(reader: Reader, before: string | undefined, limit: number): Promise<PulledEvents> {
    const horizon = await this.events.horizon();
    const wanted = wantedFor(reader, limit);
    const read = await this.events.readBack(streamOf(reader, firstIdAt(new Date(0))), before, horizon, wanted);
    return pageOf(reader, { read, wanted, limit, position: before ?? horizon });
  }
}

const wantedFor = ({ domainId }: Reader, limit: number): number => (domainId === undefined ? limit + 1 : SCAN);

function streamOf({ organizationId, mode, scopes }: Reader, after: string): FeedStream {
  return { organizationId, mode, after, isWithoutInbound: !scopes.has('inbound:read') };
}

interface ReadEvents {
  readonly read: readonly FeedEvent[];
  /** How many were asked for. */
  readonly wanted: number;
  readonly limit: number;
  /** Where the page begins. */
  readonly position: string;
}

function pageOf({ domainId }: Reader, { read, wanted, limit, position }: ReadEvents): PulledEvents {
  const own = domainId === undefined ? read : read.filter((event) => event.domainId === domainId);
  const events = own.slice(0, limit);
  const last = own.length > limit ? events.at(-1) : read.at(-1);
  return { events, next: last?.id ?? position, hasMore: own.length > limit || read.length === wanted };
}

export { toPayload } from './feed-event';
export type { EventKey, FeedEvent, FeedStream, WebhookPayload } from './feed-event';
