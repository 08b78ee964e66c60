import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { type Clock, DAY, MINUTE } from '../../common/clock';
import type { CountedHour, CountRange } from './stats.repository';

/** Reads the counts of accepted emails per hour. */
interface HourlyCounts {
  countEmails(range: CountRange): Promise<number>;
  locateEmails(range: CountRange, page: CountedPage): Promise<CountedHour[]>;
}

interface CountedPage {
  readonly offset: number;
  readonly limit: number;
}

/** Age from which hours change only by retention, which removes whole months. */
const SETTLED_MS = 32 * DAY;
const REMEMBERED_MS = MINUTE;
const MAX_REMEMBERED = 5_000;
/** Span of the first search for a page, before all hours. */
const SPANS = [2 * DAY, SETTLED_MS];

/**
 * Counts and locates emails by the counts per hour. The cost is that of one month however long the history is: the sum of older
 * hours is cached for a minute, so a total may include what retention has removed within the last minute; a page is searched in
 * the newest hours first. Measured with the hours of a year: 24 ms without, 6 ms with (npm run bench:year).
 */
export class EmailCounts {
  private readonly settled = new LRUCache<string, { readonly count: Promise<number>; readonly untilMs: number }>(
    atMost(MAX_REMEMBERED),
  );

  constructor(
    private readonly hours: HourlyCounts,
    private readonly clock: Clock,
  ) {}

  /** @throws UnavailableError */
  async count(range: CountRange): Promise<number> {
    const border = new Date(Math.floor((this.clock.now().getTime() - SETTLED_MS) / DAY) * DAY);
    const { from, to } = range;
    if (from && from >= border) return this.hours.countEmails(range);
    if (to && to <= border) return this.countSettled(range);
    const older = await this.countSettled({ ...range, to: border });
    return older + (await this.hours.countEmails({ ...range, from: border }));
  }

  /** The hours that hold `limit` emails after the newest `offset` ones of the range, newest first. @throws UnavailableError */
  async locate(range: CountRange, page: CountedPage): Promise<CountedHour[]> {
    const now = this.clock.now();
    const end = range.to && range.to < now ? range.to : now;
    for (const span of SPANS) {
      const from = new Date(end.getTime() - span);
      if (range.from && range.from >= from) break;
      const found = await this.hours.locateEmails({ ...range, from }, page);
      const last = found.at(-1);
      if (last && last.newer + last.emails >= page.offset + page.limit) return found;
    }
    return this.hours.locateEmails(range, page);
  }

  /** Drops the cached sums; to be called when emails have been removed. */
  clearCache(): void {
    this.settled.clear();
  }

  private countSettled(range: CountRange): Promise<number> {
    const { organizationId, mode, domainId, from, to } = range;
    const key = [organizationId, mode, domainId, from?.getTime(), to?.getTime()].join(' ');
    const nowMs = this.clock.monotonicMs();
    const known = this.settled.get(key);
    if (known && known.untilMs > nowMs) return known.count;
    const count = this.hours.countEmails(range);
    this.settled.set(key, { count, untilMs: nowMs + REMEMBERED_MS });
    // A failure is not cached.
    count.catch(() => this.settled.delete(key));
    return count;
  }
}
