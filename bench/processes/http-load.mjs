// Load over HTTP/1.1: keep-alive connections with one open request each. Requests are built once, and only status and length
// of a response are read: a general load generator took more CPU than the service under load. With a `rate`, requests are due at
// random times whatever the service does, and a latency begins when its request was due, not when a connection was free for it.
import { connect } from 'node:net';
import { serve } from '../harness/helper.mjs';

serve({ start: () => undefined, run });

/**
 * @param target `{port, path, key, bodies}`: JSON texts that are sent in turn; `rate`: requests/s, else as many as there are responses
 * @returns how many returned 202 within the time, and the latencies' percentiles in ms
 */
async function run({ port, path, key, bodies, connections, seconds, rate }) {
  const requests = bodies.map((body) => toRequest(path, key, body));
  const begin = performance.now();
  const arrivals = rate === undefined ? undefined : new Arrivals(rate, begin);
  const state = { next: 0, until: begin + seconds * 1_000, latencies: [], requests, port, arrivals };
  await Promise.all(Array.from({ length: connections }, () => runConnection(state)));
  const latencies = state.latencies.sort((one, other) => one - other);
  const at = (share) => latencies[Math.floor(latencies.length * share)];
  return { count: latencies.length, seconds: (performance.now() - begin) / 1_000, p50: at(0.5), p99: at(0.99) };
}

function toRequest(path, key, body) {
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: bench',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** One client: it reconnects when the service ends a connection after its thousandth request. */
async function runConnection(state) {
  while (performance.now() < state.until) await useConnection(state);
}

function useConnection(state) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: state.port, host: '127.0.0.1', noDelay: true });
    let pending = Buffer.alloc(0);
    let sentAt = 0;
    const send = () => {
      if (performance.now() >= state.until) return void socket.end();
      if (state.arrivals) state.arrivals.next(sendAt);
      else sendAt(performance.now());
    };
    const sendAt = (due) => {
      if (performance.now() >= state.until) return void socket.end();
      sentAt = due;
      socket.write(state.requests[state.next % state.requests.length]);
      state.next += 1;
    };
    socket.on('connect', send).on('error', reject).on('close', resolve);
    socket.on('data', (chunk) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      const response = readResponse(pending);
      if (!response) return;
      pending = Buffer.alloc(0);
      if (response.status !== '202') return void socket.destroy(new Error(`Response: ${response.text}`));
      state.latencies.push(performance.now() - sentAt);
      if (!response.closes) send();
    });
  });
}

/** Times at which requests are due: exponential gaps, as of many independent clients. */
class Arrivals {
  #idle = [];
  #due;

  constructor(rate, begin) {
    this.gapMs = 1_000 / rate;
    this.#due = begin;
  }

  /** Calls `send` with the time when its request was due, then or later. */
  next(send) {
    this.#idle.push(send);
    if (this.#idle.length === 1) this.#dispatch();
  }

  #dispatch() {
    while (this.#idle.length > 0 && this.#due <= performance.now()) {
      const due = this.#due;
      this.#due -= this.gapMs * Math.log(1 - Math.random());
      this.#idle.shift()(due);
    }
    if (this.#idle.length > 0) setTimeout(() => this.#dispatch(), 1);
  }
}

/** Undefined until the response is complete. */
function readResponse(bytes) {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = bytes.latin1Slice(0, headEnd);
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  if (bytes.length < headEnd + 4 + length) return undefined;
  const status = head.slice(9, 12);
  return { status, closes: /\r\nconnection: close/i.test(head), text: status === '202' ? '' : bytes.toString() };
}
