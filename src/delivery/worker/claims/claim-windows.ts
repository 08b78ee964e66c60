import { LRUCache } from 'lru-cache';
import { atMost } from '../../../common/bounded-cache';
import { NIL_ID } from '../../../common/ids';
import type { DeliveryQueueRepository } from '../../queue/delivery-queue.repository';
import type { ReadyFilter, Window } from '../../queue/sql/ready-destinations.sql';

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';
/** Organizations whose place among their destinations is kept; the others start anywhere. */
const MAX_PLACES = 10_000;
/**
 * Destinations of one organization that a claim looks at: more after one that has seen too few of them that may take mail, as a large
 * receiver with thousands of domains is held back. In all, what is read in a few milliseconds.
 */
const WIDTH = { least: 32, most: 1_024, step: 4, inAll: 2_048 };

/** Where among an organization's destinations its next claim begins, and how many it looks at. */
interface Place {
  readonly cursor: string;
  readonly width: number;
}

/** The destinations that a claim has seen of an organization. */
export interface Look {
  readonly window: Window;
  readonly destinations: string[];
}

export const OPEN: ReadyFilter = { blocked: [] };
export const NOT_LOOKED: Look = { window: { organizationId: NIL_ID, cursor: '', width: 0 }, destinations: [] };

/** Where claims look among the destinations of each organization: a bounded part at a time, round all of them. */
export class ClaimWindows {
  /** Destinations that all looks together have returned. */
  read = 0;
  private readonly places = new LRUCache<string, Place>(atMost(MAX_PLACES));

  constructor(private readonly queue: Pick<DeliveryQueueRepository, 'findReadyDestinations'>) {}

  /** Reads the next destinations of those that have not been looked at. */
  async look(organizationIds: readonly string[], looks: Map<string, Look>, filter = OPEN): Promise<void> {
    const windows = this.windowsOf(organizationIds.filter((id) => !looks.has(id)));
    if (windows.length === 0) return;
    for (const window of windows) looks.set(window.organizationId, { window, destinations: [] });
    const ready = await this.queue.findReadyDestinations(windows, filter);
    this.read += ready.length;
    for (const { organizationId, destination } of ready) {
      looks.get(organizationId)?.destinations.push(destination);
    }
  }

  /**
   * The next claim looks behind the last destination that this one takes from, or behind all that it has seen.
   * @param wantsMore too few of those may take mail
   * @returns false when all have been seen, and none of them may
   */
  moveOn(
    organizationId: string,
    { window, destinations }: Look,
    last: string | undefined,
    wantsMore: boolean,
  ): boolean {
    const { cursor, width } = window;
    const isPart = destinations.length === width;
    const next =
      isPart && wantsMore
        ? { cursor: destinations.at(-1) ?? cursor, width: Math.min(width * WIDTH.step, WIDTH.most) }
        : { cursor: last ?? cursor, width: Math.max(Math.floor(width / WIDTH.step), WIDTH.least) };
    this.places.set(organizationId, next);
    return isPart || last !== undefined;
  }

  private windowsOf(organizationIds: readonly string[]): Window[] {
    const most = Math.max(WIDTH.least, Math.floor(WIDTH.inAll / organizationIds.length));
    return organizationIds.map((organizationId) => {
      const begin = { cursor: randomLetter() + randomLetter(), width: WIDTH.least };
      const { cursor, width } = this.places.get(organizationId) ?? begin;
      return { organizationId, cursor, width: Math.min(width, most) };
    });
  }
}

function randomLetter(): string {
  return ALPHABET.charAt(Math.floor(Math.random() * ALPHABET.length));
}
