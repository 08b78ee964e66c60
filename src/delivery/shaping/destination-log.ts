import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { type Clock, MINUTE, HOUR } from '../../common/clock';
import { withoutAddresses } from '../../common/erasure/without-addresses';
import type { Route } from '../routing/router';
import type { RuleEffect } from './shaping.entity';

/** The last hour in parts. */
const PARTS = 12;
const PART_MS = (60 * MINUTE) / PARTS;
const MAX_GROUPS = 10_000;
const MAX_DOMAINS = 20;
const MAX_HOSTS = 20;
const MAX_RESPONSE = 500;

export type CountedKind = 'delivered' | 'deferred' | 'bounced';

interface Part {
  readonly number: number;
  readonly counts: Record<CountedKind, number>;
}

interface Entry {
  mxHosts: readonly string[];
  readonly domains: Set<string>;
  parts: Part[];
  /** Attempts begun in this minute, and in the one before. */
  begun: { readonly minute: number; now: number; readonly before: number };
  lastResponse: string | undefined;
  isNews: boolean;
}

/** What has come of the attempts at a group of destinations. */
interface GroupFacts {
  readonly mxHosts: readonly string[];
  readonly domains: readonly string[];
  readonly lastResponse: string | undefined;
  /** Within the last hour. */
  readonly counts: Readonly<Record<CountedKind, number>>;
}

/** Remembers of each group what operators are shown; the longest unused are forgotten first. */
export class DestinationLog {
  private readonly entries = new LRUCache<string, Entry>(atMost(MAX_GROUPS));

  constructor(private readonly clock: Clock) {}

  /** An attempt starts. */
  begin(key: string, destination: string, { hosts }: Extract<Route, { kind: 'hosts' }>): void {
    const entry = this.entryOf(key);
    entry.mxHosts = [...hosts]
      .sort((a, b) => a.preference - b.preference || (a.hostName < b.hostName ? -1 : 1))
      .slice(0, MAX_HOSTS)
      .map(({ hostName }) => hostName);
    if (entry.domains.size < MAX_DOMAINS) entry.domains.add(destination);
    entry.begun = this.begunOf(entry);
    entry.begun.now += 1;
    entry.isNews = true;
  }

  /** @param response the last line of the receiver's reply */
  end(key: string, kind: CountedKind | undefined, response: string | undefined): void {
    const entry = this.entryOf(key);
    if (response !== undefined) entry.lastResponse = withoutAddresses(response.slice(0, MAX_RESPONSE));
    entry.isNews = true;
    if (kind === undefined) return;
    const number = this.part();
    if (entry.parts.at(-1)?.number !== number) {
      entry.parts.push({ number, counts: { delivered: 0, deferred: 0, bounced: 0 } });
    }
    const last = entry.parts.at(-1);
    if (last) last.counts[kind] += 1;
  }

  /** Attempts begun in a minute, as of late: in this one, or in the one before if those were more. */
  perMinute(key: string): number {
    const entry = this.entries.get(key);
    if (!entry) return 0;
    const { now, before } = this.begunOf(entry);
    return Math.max(now, before);
  }

  /** The groups of which there is something new since the last time. */
  drainChanges(): string[] {
    const keys: string[] = [];
    for (const [key, entry] of this.entries.entries()) {
      if (entry.isNews) keys.push(key);
      entry.isNews = false;
    }
    return keys;
  }

  /** What is new of these could not be reported. */
  restoreChanges(keys: readonly string[]): void {
    for (const key of keys) {
      const entry = this.entries.peek(key);
      if (entry) entry.isNews = true;
    }
  }

  factsOf(key: string): GroupFacts {
    const { mxHosts = [], domains = new Set<string>(), parts = [], lastResponse } = this.entries.get(key) ?? {};
    const counts = { delivered: 0, deferred: 0, bounced: 0 };
    const oldest = this.part() - PARTS;
    for (const part of parts.filter(({ number }) => number > oldest)) {
      for (const kind of ['delivered', 'deferred', 'bounced'] as const) counts[kind] += part.counts[kind];
    }
    return { mxHosts, domains: [...domains], lastResponse, counts };
  }

  private entryOf(key: string): Entry {
    const known = this.entries.get(key);
    if (known) {
      known.parts = known.parts.slice(-PARTS);
      return known;
    }
    const entry: Entry = {
      ...{ mxHosts: [], domains: new Set<string>(), parts: [] },
      ...{ begun: { minute: 0, now: 0, before: 0 }, lastResponse: undefined, isNews: true },
    };
    this.entries.set(key, entry);
    return entry;
  }

  private begunOf({ begun }: Entry): Entry['begun'] {
    const minute = Math.floor(this.clock.monotonicMs() / MINUTE);
    if (begun.minute === minute) return begun;
    return { minute, now: 0, before: begun.minute === minute - 1 ? begun.now : 0 };
  }

  private part(): number {
    return Math.floor(this.clock.monotonicMs() / PART_MS);
  }
}

/** A limit of the receiver, derived from a reply. */
interface LearnedRule {
  readonly effect: Extract<RuleEffect, 'max_connections' | 'rate_per_minute'>;
  /** What this worker may have or send, which may be nothing; the part of the others comes to it (`writeLearned`). */
  readonly value: number;
  readonly forMs: number;
}

/** What this worker was doing when the reply came. */
interface TrafficThen {
  /** Conversations under way, that of the reply among them. */
  readonly active: number;
  /** Attempts begun within the last minute. */
  readonly perMinute: number;
}

/** A receiver limits a sender for about that long; while it does, each further reply renews the rule. */
const FOR_MS = HOUR;

/** Of one sender's conversations at a time. Plain words only: a repetition could take more than linear time. */
const TOO_MANY_CONNECTIONS =
  /too many (?:concurrent |simultaneous |open )?(?:smtp )?(?:connections|sessions)|maximum number of (?:concurrent )?connections|connection limit|concurrent connections|concurrency limit|connections from your (?:host|ip)|max connections/i;

/** Of messages in a time. */
const TOO_FAST =
  /rate limit|rate-limit|ratelimit|sending rate|too many messages|too many emails|too much mail|message rate|unusual rate|exceeded the (?:allowed )?(?:rate|number of messages)|throttl|too fast|slow down|per (?:minute|hour) exceeded|messages per hour|quota of messages/i;

/** Undefined: the reply is not about limits, or halving does not help. @param text all lines */
export function learnRule(text: string, { active, perMinute }: TrafficThen): LearnedRule | undefined {
  if (TOO_MANY_CONNECTIONS.test(text)) {
    return { effect: 'max_connections', value: Math.max(0, active - 1), forMs: FOR_MS };
  }
  if (TOO_FAST.test(text)) {
    return { effect: 'rate_per_minute', value: Math.floor(perMinute / 2), forMs: FOR_MS };
  }
  return undefined;
}
