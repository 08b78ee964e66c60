import { once } from 'node:events';
import { createServer } from 'node:http';
import { Random } from '../plan/random.mjs';

/** Part of the requests that fail, so that they are repeated. */
const FAULT_SHARE = 0.01;

/** The customers' receiver: one path per tenant. Writes the webhook ledger before each 200. */
export class WebhookReceiver {
  #server = createServer((request, response) => this.#serve(request, response));
  #ledger;
  #random;
  #isRelaxed = false;

  constructor(ledger, seed) {
    this.#ledger = ledger;
    this.#random = new Random(seed);
  }

  async start() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this.#server.address().port;
  }

  /** Fails no more. */
  relax() {
    this.#isRelaxed = true;
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #serve(request, response) {
    request.resume().on('end', () => {
      if (!this.#isRelaxed && this.#random.next() < FAULT_SHARE) return void response.writeHead(500).end();
      this.#ledger.received(Number(request.url.split('/').at(-1)), request.headers['webhook-id']);
      response.writeHead(200).end();
    });
  }
}
