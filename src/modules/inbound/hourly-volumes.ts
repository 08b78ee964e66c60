import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { type Clock, HOUR } from '../../common/clock';
import type { Volume } from './inbound-limits';

const MAX_COUNTS = 50_000;
const NONE: Volume = { messages: 0, bytes: 0 };

/** How much was counted under each name since the hour began. Of more names than are kept, those that were used longest ago are forgotten. */
export class HourlyVolumes {
  private readonly volumes = new LRUCache<string, Volume>(atMost(MAX_COUNTS));
  private sinceMs = 0;

  constructor(private readonly clock: Clock) {}

  of(name: string): Volume {
    return this.isOver() ? NONE : (this.volumes.get(name) ?? NONE);
  }

  add(name: string, size: number): void {
    if (this.isOver()) {
      this.volumes.clear();
      this.sinceMs = this.clock.monotonicMs();
    }
    const { messages, bytes } = this.of(name);
    this.volumes.set(name, { messages: messages + 1, bytes: bytes + size });
  }

  private isOver(): boolean {
    return this.clock.monotonicMs() - this.sinceMs > HOUR;
  }
}
