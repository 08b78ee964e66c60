import { Injectable } from '@nestjs/common';
import type { Principal } from '../../common/http/principal';
import { firstIdAt } from '../../common/ids';
import { EventFeedService, type FeedEvent } from './event-feed.service';

/** Where to begin: behind an event, or at a time; undefined: with the first event there is. */
export type PullStart = string | Date | undefined;

export interface PulledEvents {
  readonly events: readonly FeedEvent[];
  /** Where to go on, now or later. */
  readonly next: string;
  /** Whether there is more to be read at once. */
  readonly hasMore: boolean;
}

/** Events looked at for a key that is bound to a domain; a page may be short, or empty, and the cursor moves on. */
const SCAN = 1_000;

/** The event log, read by a client page by page. */
@Injectable()
export class EventPull {
  constructor(private readonly feed: EventFeedService) {}

  /** Oldest first, each event once, whatever is written meanwhile. @throws UnavailableError */
  async pull({ organizationId, mode, domainId }: Principal, start: PullStart, limit: number): Promise<PulledEvents> {
    const after = typeof start === 'string' ? start : firstIdAt(start ?? new Date(0));
    const asked = domainId === undefined ? limit + 1 : SCAN;
    const [read = []] = await this.feed.readAfter([{ organizationId, mode, after }], asked);
    const own = domainId === undefined ? read : read.filter((event) => event.domainId === domainId);
    const events = own.slice(0, limit);
    const last = own.length > limit ? events.at(-1) : read.at(-1);
    return { events, next: last?.id ?? after, hasMore: own.length > limit || read.length === asked };
  }
}
