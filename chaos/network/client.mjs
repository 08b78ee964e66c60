import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { toBody } from '../plan/traffic.mjs';

const ANSWER_LIMIT_MS = 15_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
const CONNECTIONS = 64;
const ACCEPTED = 202;
const CONFLICT = 409;
const TOO_MANY = 429;

/**
 * All customers. A correct client: it repeats a request with the same key, at any of the APIs, until it has a response that
 * is final. Writes the client's ledger.
 */
export class Client {
  #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  #ports;
  #tenants;
  #ledger;
  #onResponse;
  #calls = 0;

  /** @param ports the APIs that run at the moment: `() => number[]` @param onResponse called with the port of each final response */
  constructor({ ports, tenants, ledger, onResponse = () => undefined }) {
    this.#ports = ports;
    this.#onResponse = onResponse;
    this.#tenants = tenants;
    this.#ledger = ledger;
  }

  /** Makes all requests at their time; resolves when the last of them has its final response. */
  async send(requests, startedAt) {
    const underWay = [];
    for (const request of requests) {
      const waitMs = startedAt + request.at * 1_000 - performance.now();
      if (waitMs > 1) await delay(waitMs);
      underWay.push(this.#sendOne(request));
    }
    await Promise.all(underWay);
  }

  /** One call, repeated until there is a final response: `{status, body}`. */
  async call(method, path, tenant, { body, key } = {}) {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const answer = await this.#attempt({
        method,
        path,
        key: this.#tenants[tenant].key,
        idempotencyKey: key,
        payload,
      });
      if (answer && answer.status < 500 && answer.status !== CONFLICT && answer.status !== TOO_MANY) {
        this.#onResponse(answer.port);
        return answer;
      }
      this.#ledger.repeated(answer?.status);
      await delay(pauseMs);
    }
  }

  stop() {
    this.#agent.destroy();
  }

  async #sendOne({ tenant, key, messages }) {
    const isSingle = messages.length === 1;
    const body = isSingle ? toBody(messages[0]) : messages.map(toBody);
    const { status, body: answer } = await this.call('POST', isSingle ? '/v1/emails' : '/v1/emails/batch', tenant, {
      body,
      key,
    });
    const items = status === ACCEPTED ? (isSingle ? [answer.data] : answer.data.data) : [];
    messages.forEach((message, index) => {
      const id = items[index]?.id;
      if (id) this.#ledger.accepted(message, tenant, id);
      else this.#ledger.refused(message, tenant, JSON.stringify(items[index] ?? answer).slice(0, 300));
    });
  }

  /** Undefined when there was no complete response. */
  async #attempt({ method, path, key, idempotencyKey, payload }) {
    const ports = this.#ports();
    if (ports.length === 0) return undefined;
    this.#calls += 1;
    const port = ports[this.#calls % ports.length];
    const headers = {
      authorization: `Bearer ${key}`,
      ...(payload !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
      }),
      ...(idempotencyKey !== undefined && { 'x-idempotency-key': idempotencyKey }),
    };
    return new Promise((resolve) => {
      const giveUp = () => resolve(undefined);
      const options = { host: '127.0.0.1', port, method, path, headers, agent: this.#agent };
      const call = httpRequest({ ...options, signal: AbortSignal.timeout(ANSWER_LIMIT_MS) }, (response) => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('error', giveUp)
          .on('data', (chunk) => (text += chunk));
        response.on('end', () =>
          resolve(response.complete ? { status: response.statusCode, body: parse(text), port } : undefined),
        );
        response.on('close', giveUp);
      });
      call.on('error', giveUp).end(payload);
    });
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
