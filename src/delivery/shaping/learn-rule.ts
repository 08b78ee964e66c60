import { HOUR } from '../../common/clock';
import type { RuleEffect } from './shaping.entity';

/** What a reply tells of a receiver's limits. */
export interface LearnedRule {
  readonly effect: Extract<RuleEffect, 'max_connections' | 'rate_per_minute'>;
  readonly value: number;
  readonly forMs: number;
}

/** What this worker was doing when the reply came. */
export interface TrafficThen {
  /** Conversations under way, that of the reply among them. */
  readonly active: number;
  /** Attempts begun within the last minute. */
  readonly perMinute: number;
}

/** A receiver's mood lasts about that long; while it goes on, each further reply renews the rule. */
const FOR_MS = HOUR;

/** Of one sender's conversations at a time. Plain words only: a repetition could take more than linear time. */
const TOO_MANY_CONNECTIONS =
  /too many (?:concurrent |simultaneous |open )?(?:smtp )?(?:connections|sessions)|maximum number of (?:concurrent )?connections|connection limit|concurrent connections|concurrency limit|connections from your (?:host|ip)|max connections/i;

/** Of messages in a time. */
const TOO_FAST =
  /rate limit|rate-limit|ratelimit|sending rate|too many messages|too many emails|too much mail|message rate|unusual rate|exceeded the (?:allowed )?(?:rate|number of messages)|throttl|too fast|slow down|per (?:minute|hour) exceeded|messages per hour|quota of messages/i;

/** Undefined: it says nothing of limits, or nothing that halving does not mend. @param text all lines */
export function learnRule(text: string, { active, perMinute }: TrafficThen): LearnedRule | undefined {
  if (TOO_MANY_CONNECTIONS.test(text)) {
    return { effect: 'max_connections', value: Math.max(1, active - 1), forMs: FOR_MS };
  }
  if (TOO_FAST.test(text)) {
    return { effect: 'rate_per_minute', value: Math.max(1, Math.floor(perMinute / 2)), forMs: FOR_MS };
  }
  return undefined;
}
