import type { EndpointClass } from '../common/http/request/request-limits';
import { ConfigurationError } from '../config/load-config';

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 60 * MINUTE_SECONDS;
const DAY_SECONDS = 24 * HOUR_SECONDS;

/** At most `limit` requests in each window; windows are aligned to the epoch, so all processes agree on them. */
export interface RateLimit {
  readonly limit: number;
  readonly windowSeconds: number;
}

/** Limits per API key. */
const KEY_LIMITS = {
  send: { limit: 600, windowSeconds: MINUTE_SECONDS },
  batch: { limit: 60, windowSeconds: MINUTE_SECONDS },
  reads: { limit: 1_000, windowSeconds: MINUTE_SECONDS },
  stats: { limit: 120, windowSeconds: MINUTE_SECONDS },
  writes: { limit: 100, windowSeconds: MINUTE_SECONDS },
  'domain-writes': { limit: 60, windowSeconds: HOUR_SECONDS },
  'gdpr-export': { limit: 30, windowSeconds: DAY_SECONDS },
  'gdpr-delete': { limit: 10, windowSeconds: DAY_SECONDS },
  'api-key-writes': { limit: 30, windowSeconds: HOUR_SECONDS },
  // Those that a stolen key has made are revoked in minutes, whatever it has used up for its organization.
  'api-key-revocations': { limit: 100, windowSeconds: MINUTE_SECONDS },
} as const satisfies Record<Exclude<EndpointClass, 'unsubscribe' | 'console-sign-in'>, RateLimit>;

/** Limits per client address, on public routes. Mail programs' one-click requests come from few addresses each. */
const ADDRESS_LIMITS = {
  unsubscribe: { limit: 300, windowSeconds: MINUTE_SECONDS },
  'console-sign-in': { limit: 20, windowSeconds: MINUTE_SECONDS },
} as const satisfies Partial<Record<EndpointClass, RateLimit>>;

/**
 * Limits over all endpoints together: one for all keys of an organization, one for each test key and each operator key; and what all
 * keys of an organization may change. A change leaves an entry of 360 bytes in the audit log, for two years, and no entry may be left
 * out: the limit of requests alone would let one organization write 5 GB a day, this one 86 MB. An hour of inbound mail has 5,000
 * messages, each of which may be deleted. A sign-in to the console leaves an entry too, and counts for its key alone, so that a stolen key
 * does not keep others from signing in.
 */
const OVERALL_LIMITS = {
  organization: { limit: 10_000, windowSeconds: MINUTE_SECONDS },
  changes: { limit: 10_000, windowSeconds: HOUR_SECONDS },
  'test-key': { limit: 500, windowSeconds: HOUR_SECONDS },
  'sign-ins': { limit: 60, windowSeconds: HOUR_SECONDS },
  operator: { limit: 600, windowSeconds: MINUTE_SECONDS },
} as const satisfies Record<string, RateLimit>;

const DEFAULT_LIMITS = { ...KEY_LIMITS, ...ADDRESS_LIMITS, ...OVERALL_LIMITS };

export type LimitName = keyof typeof DEFAULT_LIMITS;

/** The configuration of throttling; also its DI token. */
export abstract class ThrottlingConfig {
  abstract readonly enabled: boolean;
  abstract readonly limits: Readonly<Record<LimitName, RateLimit>>;
}

/**
 * The defaults with an operator's overrides: requests per window, by name.
 * @throws ConfigurationError for an unknown name: a misspelt limit would silently not apply.
 */
export function limitsWith(overrides: Readonly<Record<string, number>>): Record<LimitName, RateLimit> {
  const limits: Record<LimitName, RateLimit> = { ...DEFAULT_LIMITS };
  for (const [name, limit] of Object.entries(overrides)) {
    if (!isLimitName(name)) {
      const known = Object.keys(DEFAULT_LIMITS).join(', ');
      throw new ConfigurationError([`RATE_LIMITS names the unknown limit "${name}"; known are ${known}`]);
    }
    limits[name] = { ...limits[name], limit };
  }
  return limits;
}

function isLimitName(name: string): name is LimitName {
  return Object.hasOwn(DEFAULT_LIMITS, name);
}
