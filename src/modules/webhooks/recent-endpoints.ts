import { MINUTE } from '../../common/clock';
import type { EndpointKey } from './webhook-queue';

/** Longer than most pauses between the events of one email. */
const RECENT_MS = 5 * MINUTE;
/** Of more than these, the ones with the oldest events wait for their turn in the walk over all endpoints. */
const MAX_RECENT = 5_000;

interface Recent {
  readonly key: EndpointKey;
  readonly untilMs: number;
}

/** The endpoints that had events lately: these are likely to have more soon. In the order of their last events. */
export class RecentEndpoints {
  private readonly recent = new Map<string, Recent>();

  /** These had events just now. */
  note(keys: readonly EndpointKey[], nowMs: number): void {
    for (const { organizationId, mode, endpointId } of keys) {
      this.recent.delete(endpointId);
      this.recent.set(endpointId, { key: { organizationId, mode, endpointId }, untilMs: nowMs + RECENT_MS });
    }
    for (const name of this.recent.keys()) {
      if (this.recent.size <= MAX_RECENT) return;
      this.recent.delete(name);
    }
  }

  /** Pages of them, and forgets those whose last event was long ago. */
  pages(nowMs: number, limit: number): EndpointKey[][] {
    for (const [name, { untilMs }] of this.recent) {
      if (untilMs > nowMs) break;
      this.recent.delete(name);
    }
    const keys = [...this.recent.values()].map(({ key }) => key);
    const count = Math.ceil(keys.length / limit);
    return Array.from({ length: count }, (_, at) => keys.slice(at * limit, (at + 1) * limit));
  }
}
