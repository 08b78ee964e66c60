import { DAY, HOUR, MINUTE } from '../../../common/clock';
import type { DkimKey } from '../dkim/dkim-key.entity';
import type { Domain } from '../registry/domain.entity';
import type { RecordState } from './record-state';

/** How long after a record was first shown to its owner it is checked frequently. */
const EAGER_FOR_MS = 3 * DAY;
const JITTER = 0.1;

export interface Watched {
  readonly domain: Pick<Domain, 'verificationStatus' | 'dkimStatus' | 'createdAt'>;
  readonly keys: readonly Pick<DkimKey, 'state' | 'createdAt'>[];
  readonly states: readonly Pick<RecordState, 'result' | 'verified' | 'failingSince'>[];
}

/**
 * When the records are checked again: every five minutes while new ones are expected, hourly while records of a verified domain
 * are missing or cannot be checked, else daily; ± 10 %, so that checks of many domains spread out.
 * @param random from 0 to 1
 */
export function nextCheckAt(watched: Watched, now: Date, random = Math.random()): Date {
  return new Date(now.getTime() + intervalMs(watched, now) * (1 - JITTER + 2 * JITTER * random));
}

function intervalMs(watched: Watched, now: Date): number {
  if (isAwaiting(watched, now)) return 5 * MINUTE;
  return isFailing(watched) ? HOUR : DAY;
}

function isAwaiting({ domain, keys }: Watched, now: Date): boolean {
  const isUnfinished = domain.verificationStatus !== 'verified' || domain.dkimStatus === 'pending';
  const shownAt = keys.filter(({ state }) => state === 'pending').map(({ createdAt }) => createdAt);
  if (isUnfinished) shownAt.push(domain.createdAt);
  return shownAt.some((at) => now.getTime() - at.getTime() < EAGER_FOR_MS);
}

function isFailing({ domain, states }: Watched): boolean {
  if (domain.verificationStatus !== 'verified') return false;
  return (
    domain.dkimStatus === 'failed' ||
    states.some(({ failingSince, verified, result }) => failingSince !== null || (verified && result === 'unreachable'))
  );
}
