import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { type Clock, MINUTE, SECOND } from '../../common/clock';
import { allowsPlaintext, inPlaintext, type SmtpEndpoint } from './smtp-endpoint';
import type { SmtpResult } from './smtp-result';
import { SMTP_TIMEOUTS } from './smtp-timeouts';

/** Short enough that a host which is back is used again soon, long enough that few mails pay for the check. */
const DEAD_MS = 5 * MINUTE;
const MAX_DEAD = 10_000;

/**
 * Addresses at which no server replied, for all mails: a first mail exchanger that is down costs one of them the time to
 * find out, not each. An address is dead when no connection or greeting comes about there, and alive again with the first that does.
 */
export class DeadAddresses {
  private readonly untilMs = new LRUCache<string, number>(atMost(MAX_DEAD));

  constructor(private readonly clock: Clock) {}

  has(address: string, port: number): boolean {
    return (this.untilMs.get(`${address} ${port}`) ?? -Infinity) > this.clock.monotonicMs();
  }

  /** Learns from what a conversation came to. */
  note(address: string, port: number, result: SmtpResult): void {
    const key = `${address} ${port}`;
    if (isSilence(result)) this.untilMs.set(key, this.clock.monotonicMs() + DEAD_MS);
    else if (result.kind !== 'failed') this.untilMs.delete(key);
  }
}

/** A refusal in words is a sign of life, and what this side ended shows nothing. */
function isSilence(result: SmtpResult): boolean {
  if (result.kind !== 'failed' || result.reply !== undefined) return false;
  if (result.cause === 'aborted' || result.cause === 'local') return false;
  return result.phase === 'connect' || result.phase === 'greeting';
}

/** Long enough that few mails pay for the check, short enough that a server which is repaired soon gets encrypted mail. */
const SILENT_MS = 15 * MINUTE;
/** What the check may take; a mail that has not come that far by then leaves it to the next. */
const CHECK_MS = (SMTP_TIMEOUTS.firstTls + SMTP_TIMEOUTS.tls + SMTP_TIMEOUTS.greeting) * SECOND;
const MAX_ADDRESSES = 10_000;

interface Silence {
  readonly failure: string;
  readonly untilMs: number;
  /** A mail checks whether it is over. */
  readonly isBeingChecked?: true;
}

/**
 * Addresses whose STARTTLS is answered with silence, for all mails and for all domains whose mail goes there: one of them
 * waits for both tries, the others go in plaintext at once where nothing demands encryption. Other faults cost next to nothing,
 * so that they are met anew by each mail.
 *
 *   unknown ──two tries in silence──► silent ──its time is over──► one mail checks ──encrypted──► unknown
 *                                       ▲                               └──silence again──┐
 *                                       └─────────────────────────────────────────────────┘
 */
export class SilentTls {
  private readonly silences = new LRUCache<string, Silence>(atMost(MAX_ADDRESSES));

  constructor(private readonly clock: Clock) {}

  /**
   * The endpoint as a connection is to be made to it now: in plaintext, with the cause, where it is known to be silent.
   * @param isSecondTry after a first that broke: what other mail has found out meanwhile counts, its own check is to go on
   */
  asKnown(endpoint: SmtpEndpoint, isSecondTry = false): SmtpEndpoint {
    const silence = allowsPlaintext(endpoint) ? this.silences.get(keyOf(endpoint)) : undefined;
    if (silence === undefined) return endpoint;
    const nowMs = this.clock.monotonicMs();
    if (isSecondTry && silence.isBeingChecked) return endpoint;
    if (nowMs < silence.untilMs) return inPlaintext(endpoint, silence.failure);
    this.silences.set(keyOf(endpoint), { ...silence, untilMs: nowMs + CHECK_MS, isBeingChecked: true });
    return endpoint;
  }

  /** Learns from the second try. */
  note(endpoint: SmtpEndpoint, result: SmtpResult): void {
    if (result.kind !== 'failed' || result.cause !== 'timeout') return;
    const now = this.clock.now();
    const until = new Date(now.getTime() + SILENT_MS);
    const failure = `${result.detail} (met by earlier mail at ${at(now)}; STARTTLS is not tried at this address before ${at(until)})`;
    this.silences.set(keyOf(endpoint), { failure, untilMs: this.clock.monotonicMs() + SILENT_MS });
  }

  /** A new connection there is encrypted. */
  forget(endpoint: SmtpEndpoint): void {
    this.silences.delete(keyOf(endpoint));
  }
}

function keyOf({ address, port }: SmtpEndpoint): string {
  return `${address} ${port}`;
}

function at(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
