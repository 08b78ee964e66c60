import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Relays TCP connections, and harms them. `toxic` may be changed at any time, and is undefined for a good network:
 *
 * - `{latencyMs}`: every chunk comes so much later, in both directions; applies to chunks from now on
 * - `{bytesPerSecond}`: so much goes to the server, and no more
 * - `{cutAfterBytes}`: ends each connection, also those that are open, when so many more bytes have gone to the server
 * - `{blackHole: true}`: takes connections, but no byte passes, neither in old ones nor in new ones. What was written arrives
 *   when it is over, as after a partition
 * - `{resetNew: true}`, `{silenceNew: true}`: resets new connections, or takes them and nothing more
 */
export class ToxicProxy {
  #server = createServer({ noDelay: true }, (client) => this.#join(client));
  #links = new Set();
  #target;
  #toxic;
  #toxicOf;

  /**
   * @param target `{host, port}` @param toxicOf for each new connection a toxic of its own, while there is no other
   */
  constructor(target, toxicOf = () => undefined) {
    this.#target = target;
    this.#toxicOf = toxicOf;
  }

  async listen(host = '127.0.0.1', port = 0) {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    return this;
  }

  get port() {
    return this.#server.address().port;
  }

  get toxic() {
    return this.#toxic;
  }

  set toxic(toxic) {
    this.#toxic = toxic;
    for (const link of this.#links) link.apply(toxic);
  }

  /** Resets every open connection, at both ends. */
  reset() {
    for (const link of this.#links) link.reset();
  }

  async stop() {
    this.reset();
    this.#server.close();
  }

  #join(client) {
    const toxic = this.#toxic ?? this.#toxicOf();
    if (toxic?.resetNew) {
      client.on('error', () => undefined);
      return void client.resetAndDestroy();
    }
    const link = new Link(client, this.#target, () => this.#links.delete(link));
    this.#links.add(link);
    link.apply(toxic);
    link.open();
  }
}

/** One connection: a client's and the one to the server. */
class Link {
  #toxic;
  #bytesLeft = Infinity;
  #ended = false;
  #server;

  constructor(client, target, onEnd) {
    this.client = client;
    this.target = target;
    this.onEnd = onEnd;
    client.on('error', () => this.reset()).on('close', () => this.#end());
    client.pause();
  }

  apply(toxic) {
    this.#toxic = toxic;
    this.#bytesLeft = toxic?.cutAfterBytes ?? Infinity;
    if (toxic?.blackHole) return this.#pause();
    if (this.#server) this.#resume();
    else this.open();
  }

  open() {
    if (this.#server || this.#ended || this.#toxic?.blackHole || this.#toxic?.silenceNew) return;
    this.#server = connect({ ...this.target, noDelay: true });
    this.#server.on('error', () => this.reset()).on('close', () => this.#end());
    this.#relay(this.client, this.#server, true);
    this.#relay(this.#server, this.client, false);
    this.#resume();
  }

  reset() {
    for (const socket of [this.client, this.#server]) if (socket && !socket.destroyed) socket.resetAndDestroy();
    this.#end();
  }

  /** Delayed data keeps its order, also when the delay ends meanwhile. */
  #relay(from, to, isToServer) {
    let waiting = 0;
    let tail = Promise.resolve();
    const inTurn = (work) => {
      const dueAt = performance.now() + (this.#toxic?.latencyMs ?? 0);
      if (waiting === 0 && !this.#toxic?.latencyMs) return work();
      waiting += 1;
      tail = tail
        .then(() => delay(Math.max(0, dueAt - performance.now())))
        .then(() => {
          waiting -= 1;
          work();
        });
    };
    from.on('data', (chunk) => inTurn(() => this.#pass(chunk, from, to, isToServer)));
    from.on('end', () => inTurn(() => to.end()));
  }

  #pass(chunk, from, to, isToServer) {
    if (to.destroyed) return;
    if (isToServer && chunk.length >= this.#bytesLeft) {
      to.write(chunk.subarray(0, this.#bytesLeft));
      return void setImmediate(() => this.reset());
    }
    if (isToServer) this.#bytesLeft -= chunk.length;
    const isTaken = to.write(chunk);
    const bytesPerSecond = isToServer ? this.#toxic?.bytesPerSecond : undefined;
    if (isTaken && !bytesPerSecond) return;
    from.pause();
    const resume = () => this.#toxic?.blackHole || from.resume();
    if (bytesPerSecond) setTimeout(resume, (chunk.length / bytesPerSecond) * 1_000);
    else to.once('drain', resume);
  }

  #pause() {
    this.client.pause();
    this.#server?.pause();
  }

  #resume() {
    this.client.resume();
    this.#server.resume();
  }

  #end() {
    if (this.#ended) return;
    this.#ended = true;
    this.client.destroy();
    this.#server?.destroy();
    this.onEnd();
  }
}
