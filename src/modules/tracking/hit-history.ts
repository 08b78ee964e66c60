import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { Clock, SECOND } from '../../common/clock';
import type { RecipientLinkTarget } from '../emails/recipient-links.service';
import type { Recognition } from './automation';

export type HitKind = 'opened' | 'clicked';

/** One fetch of a pixel or a link that is not written yet. */
export interface Hit extends Recognition {
  readonly kind: HitKind;
  readonly target: RecipientLinkTarget;
  /** Unique for a link of a recipient. */
  readonly linkKey: string;
  readonly occurredAt: Date;
  /** Monotonic time. */
  readonly atMs: number;
  /** At most 256 printable ASCII characters. */
  readonly userAgent: string;
  /** Such clients are people's tools: the time and number of their fetches are not evaluated. */
  readonly isOnThisMachine: boolean;
  /** The network of the client, not its address. */
  readonly ip: string | undefined;
  /** The target of a click. */
  readonly url?: string;
}

/** The result of a hit: an event that counts, an event that does not, or none because the email has been deleted. */
export type HitResult = 'recorded' | 'automated' | 'gone';

/** The same link again within this time is one hit: mail programs reload, people click twice. */
const REPEATED_MS = 10 * SECOND;
const MAX_LINKS = 20_000;

/** This many different links of one mail within `BURST_MS` are followed by filters, not by people. */
export const BURST_LINKS = 3;
export const BURST_MS = 2 * SECOND;

const MAX_DELIVERIES = 10_000;

interface Clicks {
  /** Times of the latest clicks, the oldest first. */
  readonly latest: number[];
  burst: { readonly fromMs: number; readonly toMs: number } | undefined;
}

/**
 * Finds the bursts of clicks of each delivery; a click belongs to a burst whether it comes early or late in it. No link is
 * noted twice within `BURST_MS`: repetitions are not noted.
 */
export class LinkBursts {
  private readonly deliveries = new LRUCache<string, Clicks>(atMost(MAX_DELIVERIES));

  /** Notes a click; to be called in the order of time. */
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

/**
 * Recent hits of this process, in bounded memory. Behind a load balancer each process sees its share: a repetition may be
 * recorded twice, but counts once.
 */
@Injectable()
export class HitHistory {
  private readonly recent = new LRUCache<string, number>(atMost(MAX_LINKS));
  private readonly bursts = new LinkBursts();

  constructor(private readonly clock: Clock) {}

  /** Whether the same link was hit just before; if not, remembers this hit. */
  isRepeated(linkKey: string, isAutomated: boolean): boolean {
    const nowMs = this.clock.monotonicMs();
    const key = nameOf(linkKey, isAutomated);
    const knownAtMs = this.recent.get(key);
    if (knownAtMs !== undefined && nowMs - knownAtMs < REPEATED_MS) return true;
    this.recent.set(key, nowMs);
    return false;
  }

  /** Notes a click that may be a person's. */
  note({ target, atMs }: Hit): void {
    this.bursts.note(deliveryOf(target), atMs);
  }

  /** Whether the click is part of a burst; final once `BURST_MS` have passed since. */
  isInBurst({ target, atMs }: Hit): boolean {
    return this.bursts.covers(deliveryOf(target), atMs);
  }

  /** Removes an automatic hit, so that it does not hide a person's hit after it. */
  remove({ linkKey }: Hit): void {
    this.recent.delete(nameOf(linkKey, false));
  }
}

function nameOf(linkKey: string, isAutomated: boolean): string {
  return isAutomated ? `${linkKey} automated` : linkKey;
}

function deliveryOf({ emailId, position }: Hit['target']): string {
  return `${emailId} ${position}`;
}
