import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { type Clock, MINUTE, SECOND } from '../../common/clock';
import { allowsPlaintext, inPlaintext, type SmtpEndpoint } from './smtp-endpoint';
import type { SmtpResult } from './smtp-result';
import { SMTP_TIMEOUTS } from './smtp-timeouts';

/** Short, so that a repaired host is used again soon; long, so that few mails pay for the check. */
const DEAD_MS = 5 * MINUTE;
const MAX_DEAD = 10_000;

/**
 * Addresses at which no server replied, shared by all mails: only one mail waits for a mail exchanger that is down. An
 * address is dead when a connection or greeting fails there, until one succeeds.
 */
export class DeadAddresses {
  private readonly untilMs = new LRUCache<string, number>(atMost(MAX_DEAD));

  constructor(private readonly clock: Clock) {}

  has(address: string, port: number): boolean {
    return (this.untilMs.get(`${address} ${port}`) ?? -Infinity) > this.clock.monotonicMs();
  }

  /** Updates the address from the result of a conversation. */
  note(address: string, port: number, result: SmtpResult): void {
    const key = `${address} ${port}`;
    if (isSilence(result)) this.untilMs.set(key, this.clock.monotonicMs() + DEAD_MS);
    else if (result.kind !== 'failed') this.untilMs.delete(key);
  }
}

/** A refusal with a reply shows that the host works; what this side ended shows nothing. */
function isSilence(result: SmtpResult): boolean {
  if (result.kind !== 'failed' || result.reply !== undefined) return false;
  if (result.cause === 'aborted' || result.cause === 'local') return false;
  return result.phase === 'connect' || result.phase === 'greeting';
}

/** Long, so that few mails pay for the check; short, so that a repaired server gets encrypted mail soon. */
const SILENT_MS = 15 * MINUTE;
/** Time limit of the check; after it, the next mail checks. */
const CHECK_MS = (SMTP_TIMEOUTS.firstTls + SMTP_TIMEOUTS.tls + SMTP_TIMEOUTS.greeting) * SECOND;
const MAX_ADDRESSES = 10_000;

interface Silence {
  readonly failure: string;
  readonly untilMs: number;
  /** A mail is checking whether STARTTLS works again. */
  readonly isBeingChecked?: true;
}

/**
 * Addresses that do not reply to STARTTLS, shared by all mails and domains: one mail waits for both tries, the others
 * use plaintext at once unless encryption is required. Other faults cost little, so each mail meets them itself.
 *
 *   unknown ──two tries in silence──► silent ──its time is over──► one mail checks ──encrypted──► unknown
 *                                       ▲                               └──silence again──┐
 *                                       └─────────────────────────────────────────────────┘
 */
export class SilentTls {
  private readonly silences = new LRUCache<string, Silence>(atMost(MAX_ADDRESSES));

  constructor(private readonly clock: Clock) {}

  /**
   * The endpoint to connect to now: in plaintext, with the cause, while it is known to be silent.
   * @param isSecondTry after a first try that broke: only findings of other mails count
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

  /** Updates the address from the second try. */
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
