// Load over SMTP: sessions that log in once and have one message under way each, its envelope sent in one packet. Messages are
// built once, and only codes of replies are read.
import { connect } from 'node:net';
import { serve } from '../harness/helper.mjs';

serve({ start: () => undefined, run });

const COMPLETE_REPLY = /^(?:\d{3}-[^\n]*\r\n)*\d{3}(?: [^\n]*)?\r\n/;

/**
 * @param target `{port, key, messages}`: `{to, content}` that are sent in turn
 * @returns the number of 250 replies within the time, and the latencies' percentiles in ms
 */
async function run({ port, key, messages, connections, seconds }) {
  const state = { port, key, messages, next: 0, until: performance.now() + seconds * 1_000, latencies: [] };
  const begin = performance.now();
  await Promise.all(Array.from({ length: connections }, () => useSession(state)));
  const latencies = state.latencies.sort((one, other) => one - other);
  const at = (share) => latencies[Math.floor(latencies.length * share)];
  return { count: latencies.length, seconds: (performance.now() - begin) / 1_000, p50: at(0.5), p99: at(0.99) };
}

async function useSession(state) {
  const session = new Session(state.port);
  await session.expect('220');
  await session.say('EHLO bench', '250');
  await session.say(`AUTH PLAIN ${Buffer.from(`\0waybill\0${state.key}`).toString('base64')}`, '235');
  while (performance.now() < state.until) {
    const { to, content } = state.messages[state.next % state.messages.length];
    state.next += 1;
    const sentAt = performance.now();
    session.write(`MAIL FROM:<orders@bench.test>\r\nRCPT TO:<${to}>\r\nDATA\r\n`);
    for (const code of ['250', '250', '354']) await session.expect(code);
    await session.say(`${content}\r\n.`, '250');
    state.latencies.push(performance.now() - sentAt);
  }
  session.end();
}

class Session {
  #received = '';
  #wake = () => undefined;
  #socket;

  constructor(port) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (chunk) => {
      this.#received += chunk.latin1Slice();
      this.#wake();
    });
    this.#socket.on('close', () => this.#wake());
    this.#socket.on('error', () => undefined);
  }

  write(text) {
    this.#socket.write(text);
  }

  say(line, code) {
    this.write(`${line}\r\n`);
    return this.expect(code);
  }

  async expect(code) {
    for (;;) {
      const [reply] = COMPLETE_REPLY.exec(this.#received) ?? [];
      if (reply !== undefined) {
        this.#received = this.#received.slice(reply.length);
        if (!reply.startsWith(code)) throw new Error(`Reply: ${reply}`);
        return;
      }
      if (this.#socket.destroyed) throw new Error(`The session ended, ${code} was expected`);
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }

  end() {
    this.#socket.end('QUIT\r\n');
  }
}
