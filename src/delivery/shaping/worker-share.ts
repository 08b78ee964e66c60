import type { Bounds } from '../policy/destinations/destination-bounds';
import type { DestinationRule } from './shaping.entity';
import { profileOf } from '../ports/provider-profiles';

/** A worker's place among those that run. */
export interface Place {
  /** Running workers, this one included. */
  readonly workers: number;
  /** From 0. */
  readonly rank: number;
}

/** Which part of the common limits is this worker's. */
export interface Share {
  /** The least of these parts holds; the last place is the present one. */
  readonly places: readonly Place[];
  /** True for one that has just come: the others have not made room for it yet. */
  readonly isNew: boolean;
}

/** What other running workers have under way at a group, as reported, each with its rank; no rank: it came since. */
export type OthersActive = readonly { readonly rank: number | undefined; readonly active: number }[];

/** What holds for a group, for all workers together. */
export interface GroupLimits {
  readonly isPaused: boolean;
  readonly maxConnections?: number;
  readonly ratePerMinute?: number;
  readonly messagesPerConnection?: number;
}

type Rule = Pick<DestinationRule, 'source' | 'effect' | 'value'>;

/**
 * Of several limits the lowest holds, but an operator's takes the place of the profile's.
 * @param rules of this group, none of them over
 */
export function limitsOf(key: string, rules: readonly Rule[]): GroupLimits {
  const profile = profileOf(key);
  const lowest = (effect: DestinationRule['effect'], given?: number): number | undefined => {
    const found = rules.filter((rule) => rule.effect === effect);
    const values = found.flatMap(({ value }) => value ?? []);
    const isDecided = given === undefined || found.some(({ source }) => source === 'operator');
    const all = isDecided ? values : [...values, given];
    return all.length > 0 ? Math.min(...all) : undefined;
  };
  const maxConnections = lowest('max_connections', profile?.maxConnections);
  const ratePerMinute = lowest('rate_per_minute');
  return {
    isPaused: rules.some(({ effect }) => effect === 'paused'),
    ...(maxConnections !== undefined && { maxConnections }),
    ...(ratePerMinute !== undefined && { ratePerMinute }),
    ...(profile?.messagesPerConnection !== undefined && { messagesPerConnection: profile.messagesPerConnection }),
  };
}

/**
 * This worker's part of the limits of a group. All parts add up to the limit; the indivisible rest goes by the group, so that
 * it is not always the same worker's. What others have under way beyond their parts is subtracted: it may outlast the news of
 * one more worker. A part that another does not use is not: it may begin to at any time.
 */
export function shareOf(key: string, limits: GroupLimits, { places, isNew }: Share, others: OthersActive = []): Bounds {
  const { maxConnections, ratePerMinute, ...rest } = limits;
  const workers = Math.max(...places.map((place) => place.workers));
  return {
    ...rest,
    ...(maxConnections !== undefined && {
      maxConnections: isNew ? 0 : connectionsOf(key, maxConnections, places, others),
    }),
    ...(ratePerMinute !== undefined && { ratePerMinute: isNew ? 0 : ratePerMinute / workers }),
  };
}

function connectionsOf(key: string, limit: number, places: readonly Place[], others: OthersActive): number {
  const now = places.at(-1);
  const part = Math.min(...places.map((place) => partOf(key, limit, place)));
  const beyond = others.map(({ rank, active }) => {
    const theirs = now === undefined || rank === undefined ? 0 : partOf(key, limit, { workers: now.workers, rank });
    return Math.max(0, active - theirs);
  });
  return Math.max(0, part - beyond.reduce((sum, one) => sum + one, 0));
}

function partOf(key: string, limit: number, { workers, rank }: Place): number {
  const turn = (rank + hashOf(key)) % workers;
  return Math.floor(limit / workers) + (turn < limit % workers ? 1 : 0);
}

function hashOf(key: string): number {
  let hash = 0;
  for (const character of key) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return hash;
}
