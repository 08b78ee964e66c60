import { LRUCache } from 'lru-cache';
import { SECOND } from '../../../common/clock';

/** So many different links of one mail, within so short a time, are followed by filters and not by people. */
export const BURST_LINKS = 3;
export const BURST_MS = 2 * SECOND;

const MAX_DELIVERIES = 10_000;

interface Clicks {
  /** Times of the latest clicks, the oldest first. */
  readonly latest: number[];
  burst: { readonly fromMs: number; readonly toMs: number } | undefined;
}

/**
 * Finds the bursts of clicks of each delivery; a click belongs to one whether it comes early or late in it. No link comes
 * twice within `BURST_MS`: repetitions are not noted.
 */
export class LinkBursts {
  private readonly deliveries = new LRUCache<string, Clicks>({ max: MAX_DELIVERIES });

  /** Clicks come in the order of their times. */
  note(delivery: string, atMs: number): void {
    const clicks = this.deliveries.get(delivery) ?? { latest: [], burst: undefined };
    this.deliveries.set(delivery, clicks);
    clicks.latest.push(atMs);
    if (clicks.latest.length > BURST_LINKS) clicks.latest.shift();
    const [fromMs = atMs] = clicks.latest;
    if (clicks.latest.length === BURST_LINKS && atMs - fromMs <= BURST_MS) {
      clicks.burst = extend(clicks.burst, fromMs, atMs);
    }
  }

  /** Whether a time is within the latest burst. */
  covers(delivery: string, atMs: number): boolean {
    const burst = this.deliveries.get(delivery)?.burst;
    return burst !== undefined && atMs >= burst.fromMs && atMs <= burst.toMs;
  }
}

function extend(burst: Clicks['burst'], fromMs: number, toMs: number): NonNullable<Clicks['burst']> {
  return burst && fromMs <= burst.toMs ? { fromMs: burst.fromMs, toMs } : { fromMs, toMs };
}
