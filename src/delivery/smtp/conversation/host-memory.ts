import { LRUCache } from 'lru-cache';
import { atMost } from '../../../common/bounded-cache';
import { type Clock, HOUR, MINUTE, SECOND, SystemClock } from '../../../common/clock';
import { allowsPlaintext, demandOf, inPlaintext, type SmtpEndpoint } from './smtp-endpoint';
import type { SmtpFailureCause, SmtpResult } from './smtp-result';
import { SMTP_TIMEOUTS } from './smtp-timeouts';
import type { TlsProof } from './smtp-wire';

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

const OWN_CAUSES: ReadonlySet<SmtpFailureCause> = new Set(['aborted', 'cut-short', 'local']);

/** A refusal with a reply shows that the host works; what this side ended shows nothing. */
function isSilence(result: SmtpResult): boolean {
  if (result.kind !== 'failed' || result.reply !== undefined) return false;
  if (OWN_CAUSES.has(result.cause)) return false;
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

/** About 3 KB each, the certificate included. A server can make one 64 KB long. */
const MAX_SESSIONS = 1_000;
const MAX_TICKET_BYTES = 16 * 1024;
/** Servers keep theirs for minutes to hours; one that they have forgotten costs nothing but a whole handshake. */
const LIFE_MS = HOUR;

/** With the proof of the handshake that the session is from: a resumed one compares no names. */
export interface TlsTicket extends TlsProof {
  readonly ticket: Buffer;
}

/**
 * Sessions of TLS by host (RFC 8446 section 2.2), so that a new connection to a host costs no new keys. A session is
 * continued only under the demands that it was made under: what has not been verified must not pass for verified.
 */
export class TlsSessions {
  private readonly tickets = new LRUCache<string, TlsTicket>({ max: MAX_SESSIONS, ttl: LIFE_MS });

  find(endpoint: SmtpEndpoint): TlsTicket | undefined {
    return this.tickets.get(sessionKeyOf(endpoint));
  }

  /** What is too large is not kept. */
  keep(endpoint: SmtpEndpoint, ticket: TlsTicket): void {
    if (ticket.ticket.length <= MAX_TICKET_BYTES) this.tickets.set(sessionKeyOf(endpoint), ticket);
  }

  forget(endpoint: SmtpEndpoint): void {
    this.tickets.delete(sessionKeyOf(endpoint));
  }
}

function sessionKeyOf(endpoint: SmtpEndpoint): string {
  return `${endpoint.hostName} ${endpoint.port} ${demandOf(endpoint)}`;
}

const clock = new SystemClock();

/** How many messages a host took on one connection before 421; kept for an hour, as a wrong value costs handshakes. */
export class MessageCap {
  private messages = Infinity;
  private untilMs = -Infinity;
  private bound = Infinity;
  private idleSeconds = Infinity;

  /** Call it once a fresh connection has taken what the used one refused: otherwise the 421 had another cause. */
  learn(messages: number): void {
    this.messages = Math.max(1, messages);
    this.untilMs = clock.monotonicMs() + HOUR;
  }

  /** The known limit of the host. */
  keepWithin(most: number, idleSeconds: number): void {
    this.bound = most;
    this.idleSeconds = idleSeconds;
  }

  /** How long an unused connection is kept, at most `most`. */
  idleWithin(most: number): number {
    return Math.min(this.idleSeconds, most);
  }

  /** How many messages a connection may carry, at most `most`. */
  within(most: number): number {
    const bounded = Math.min(this.bound, most);
    return clock.monotonicMs() < this.untilMs ? Math.min(this.messages, bounded) : bounded;
  }
}
