import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../plan/random.mjs';
import { SinkSession } from './sink-session.mjs';
import { ToxicProxy } from './toxic-proxy.mjs';

const TARPIT_MS = 20_000;
/** The time that an accepting server takes for the reply to the final dot: the window in which a kill may repeat a mail. */
const DOT_MS = { low: 2, high: 30 };
/** Part of the conversations that a fault hits. */
const FAULT_SHARE = 0.3;
/** Less than any message has, so that a connection ends within its first one. */
const CUT_BYTES = { low: 100, high: 1_200 };
const LATENCY_MS = 100;
const SLOW_BYTES_PER_SECOND = 60_000;
const ACCEPTED = '250 2.0.0 Taken';

/**
 * All receiving servers, one loopback address each and the same port, as mail exchangers have. Writes the sink's ledger: each
 * message is noted when its final dot has come, and again before its 250 goes out.
 */
export class Sink {
  #ledger;
  #random;
  #servers = [];
  #proxies = new Map();
  #seen = new Set();
  #isRelaxed = false;
  #relax;
  #relaxed = new Promise((resolve) => (this.#relax = resolve));

  constructor(ledger, seed) {
    this.#ledger = ledger;
    this.#random = new Random(seed);
  }

  /** The port that all of them have. */
  port = 0;

  async start(destinations) {
    for (const destination of destinations) await this.#open(destination);
  }

  /** Tarpits wait no longer, and no fault hits any more. */
  relax() {
    this.#isRelaxed = true;
    this.#relax();
    for (const proxy of this.#proxies.values()) proxy.toxic = undefined;
  }

  /** The proxy before a server, by its domain. */
  proxyOf(domain) {
    return this.#proxies.get(domain);
  }

  stop() {
    for (const proxy of this.#proxies.values()) void proxy.stop();
    for (const server of this.#servers) server.close();
  }

  async #open({ kind, domain, address }) {
    const server = createServer({ noDelay: true }, (socket) => new SinkSession(socket, this.#behaviourOf(kind)));
    this.#servers.push(server);
    const toxicOf = this.#toxicOf(kind);
    // The first one chooses the port; behind a proxy any port will do.
    server.listen(toxicOf ? 0 : this.port, toxicOf ? '127.0.0.1' : address);
    await once(server, 'listening');
    if (!toxicOf) this.port ||= server.address().port;
    else {
      const proxy = new ToxicProxy({ host: '127.0.0.1', port: server.address().port }, toxicOf);
      this.#proxies.set(domain, await proxy.listen(address, this.port));
    }
  }

  #toxicOf(kind) {
    const sometimes = (toxic) => () => (this.#isHit() ? toxic() : undefined);
    const always = (toxic) => () => (this.#isRelaxed ? undefined : toxic);
    switch (kind) {
      case 'cut':
        return sometimes(() => ({ cutAfterBytes: this.#random.integer(CUT_BYTES.low, CUT_BYTES.high) }));
      case 'rst':
        return sometimes(() => ({ resetNew: true }));
      case 'latency':
        return always({ latencyMs: LATENCY_MS });
      case 'slow':
      case 'slowread':
        return always({ bytesPerSecond: SLOW_BYTES_PER_SECOND });
      case 'hole':
        return () => undefined;
      default:
        return undefined;
    }
  }

  #isHit() {
    return !this.#isRelaxed && this.#random.next() < FAULT_SHARE;
  }

  /** True the first time. */
  #isFirst(what) {
    if (this.#seen.has(what)) return false;
    this.#seen.add(what);
    return true;
  }

  #behaviourOf(kind) {
    const isTarpit = kind === 'tarpit';
    const reply = (line) => (isTarpit && !this.#isRelaxed ? this.#afterTarpit(line) : line);
    return {
      reply,
      recipient: (address) => {
        if (kind === 'reject') return '550 5.1.1 No such mailbox';
        const isGreylisted = kind === 'greylist' && this.#isFirst(`greylist ${address}`);
        return isGreylisted ? '450 4.7.1 Greylisted, come back later' : '250 2.1.5 Ok';
      },
      message: (message) => this.#afterDot(kind, message, reply),
    };
  }

  async #afterTarpit(line) {
    const timer = new AbortController();
    await Promise.race([delay(TARPIT_MS, undefined, { signal: timer.signal }).catch(() => undefined), this.#relaxed]);
    timer.abort();
    return line;
  }

  async #afterDot(kind, message, reply) {
    const [first] = message.recipients;
    if (kind === 'refuse') return '554 5.6.0 Content refused';
    if (kind === 'tempfail' && this.#isFirst(`tempfail ${first}`)) return '451 4.3.0 Not now';
    const copies = this.#ledger.received(message);
    if (kind === 'cutdot' && this.#isFirst(`cutdot ${first}`) && this.#isHit()) return undefined;
    await delay(this.#random.between(DOT_MS.low, DOT_MS.high));
    const line = await reply(ACCEPTED);
    this.#ledger.answered(copies);
    return line;
  }
}
