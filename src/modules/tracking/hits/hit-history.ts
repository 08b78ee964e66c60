import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Clock, SECOND } from '../../../common/clock';
import type { Hit } from './hit';
import { LinkBursts } from './link-bursts';

/** The same link again within this time is one hit: mail programs reload, people click twice. */
const REPEATED_MS = 10 * SECOND;
const MAX_LINKS = 20_000;

/**
 * What has come lately, in this process and in bounded memory. Behind a load balancer each process sees its share: a
 * repetition may be told twice, and then counts once all the same.
 */
@Injectable()
export class HitHistory {
  private readonly recent = new LRUCache<string, number>({ max: MAX_LINKS });
  private readonly bursts = new LinkBursts();

  constructor(private readonly clock: Clock) {}

  /** Whether a hit like it is already known; if not, it is from now on. */
  isRepeated(linkKey: string, isAutomated: boolean): boolean {
    const nowMs = this.clock.monotonicMs();
    const key = nameOf(linkKey, isAutomated);
    const knownAtMs = this.recent.get(key);
    if (knownAtMs !== undefined && nowMs - knownAtMs < REPEATED_MS) return true;
    this.recent.set(key, nowMs);
    return false;
  }

  /** Takes note of a click that may be a person's. */
  note({ target, atMs }: Hit): void {
    this.bursts.note(deliveryOf(target), atMs);
  }

  /** Whether it fell among many clicks; known for sure once `BURST_MS` have passed since. */
  isInBurst({ target, atMs }: Hit): boolean {
    return this.bursts.covers(deliveryOf(target), atMs);
  }

  /** What turned out to be a machine's does not hide the person who comes after it. */
  forget({ linkKey }: Hit): void {
    this.recent.delete(nameOf(linkKey, false));
  }
}

function nameOf(linkKey: string, isAutomated: boolean): string {
  return isAutomated ? `${linkKey} automated` : linkKey;
}

function deliveryOf({ emailId, position }: Hit['target']): string {
  return `${emailId} ${position}`;
}
