import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { MINUTE, type Clock } from '../../common/clock';
import type { SmtpResult } from './smtp-result';

/** Short enough that a host which is back is used again soon, long enough that few mails pay for the check. */
const REMEMBERED_MS = 5 * MINUTE;
const MAX_ADDRESSES = 10_000;

/**
 * Addresses at which no server replied, for all mails: a first mail exchanger that is down costs one of them the time to
 * find out, not each. An address is dead when no connection or greeting comes about there, and alive again with the first that does.
 */
export class DeadAddresses {
  private readonly untilMs = new LRUCache<string, number>(atMost(MAX_ADDRESSES));

  constructor(private readonly clock: Clock) {}

  has(address: string, port: number): boolean {
    return (this.untilMs.get(`${address} ${port}`) ?? -Infinity) > this.clock.monotonicMs();
  }

  /** Learns from what a conversation came to. */
  note(address: string, port: number, result: SmtpResult): void {
    const key = `${address} ${port}`;
    if (isSilence(result)) this.untilMs.set(key, this.clock.monotonicMs() + REMEMBERED_MS);
    else if (result.kind !== 'failed') this.untilMs.delete(key);
  }
}

/** A refusal in words is a sign of life, and what this side ended shows nothing. */
function isSilence(result: SmtpResult): boolean {
  if (result.kind !== 'failed' || result.reply !== undefined) return false;
  if (result.cause === 'aborted' || result.cause === 'local') return false;
  return result.phase === 'connect' || result.phase === 'greeting';
}
