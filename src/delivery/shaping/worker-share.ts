import type { Bounds } from '../policy/destination-bounds';
import type { DestinationRule } from './shaping.entity';
import { profileOf } from '../ports/provider-profiles';

/** Which part of the common limits is this worker's. */
export interface Share {
  /** Running workers, this one included. */
  readonly workers: number;
  /** Its place among them, from 0. */
  readonly rank: number;
  /** True for one that has just come: the others have not made room for it yet. */
  readonly isNew: boolean;
}

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
 * it is not always the same worker's. Conversations of others beyond their parts are subtracted: they may outlast the news of
 * one more worker.
 * @param othersActive conversations of the others, as reported
 */
export function shareOf(
  key: string,
  limits: GroupLimits,
  { workers, rank, isNew }: Share,
  othersActive: number = 0,
): Bounds {
  const { maxConnections, ratePerMinute, ...others } = limits;
  const turn = (rank + hashOf(key)) % workers;
  const part = (whole: number) => Math.floor(whole / workers) + (turn < whole % workers ? 1 : 0);
  return {
    ...others,
    ...(maxConnections !== undefined && {
      maxConnections: isNew ? 0 : Math.min(part(maxConnections), Math.max(0, maxConnections - othersActive)),
    }),
    ...(ratePerMinute !== undefined && { ratePerMinute: isNew ? 0 : ratePerMinute / workers }),
  };
}

function hashOf(key: string): number {
  let hash = 0;
  for (const character of key) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return hash;
}
