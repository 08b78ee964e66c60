// Receiving servers on loopback addresses of their own, and the DNS that leads to them. Notes when each message arrives.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { serve } from '../harness/helper.mjs';
import { serveNames } from '../harness/name-server.mjs';

const END_OF_DATA = '\r\n.\r\n';
const TARPIT_MS = 20_000;

/** Milliseconds since the epoch at which the final dot came, by recipient. */
const arrivals = new Map();
const waiters = new Set();
let isRelaxed = false;

serve({
  /** @param domains `[{domain, address, kind: prompt | tarpit}]`; all of them have the same port */
  start: async ({ domains }) => {
    let port = 0;
    for (const { address, kind } of domains) {
      const server = createServer({ noDelay: true }, (socket) => converse(socket, kind)).listen(port, address);
      await once(server, 'listening');
      port = server.address().port;
    }
    return { port, dnsServer: await serveNames(new Map(domains.map(({ domain, address }) => [domain, address]))) };
  },
  reset: () => arrivals.clear(),
  /** When each of the recipients got its message; resolves when all have. */
  waitFor: ({ recipients }) =>
    new Promise((resolve) => {
      const open = new Set(recipients.filter((recipient) => !arrivals.has(recipient)));
      const done = () => resolve(recipients.map((recipient) => arrivals.get(recipient)));
      if (open.size === 0) return done();
      waiters.add({ open, done });
    }),
  /** Tarpits reply at once from now on, or wait again. */
  relax: ({ isOn }) => {
    isRelaxed = isOn;
  },
});

function converse(socket, kind) {
  let input = '';
  let isInData = false;
  let recipient = '';
  const reply = (line) => {
    const wait = kind === 'tarpit' && !isRelaxed ? TARPIT_MS : 0;
    if (wait === 0) socket.write(`${line}\r\n`);
    else setTimeout(() => socket.destroyed || socket.write(`${line}\r\n`), wait).unref();
  };
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    input += chunk.latin1Slice();
    for (;;) {
      const end = input.indexOf(isInData ? END_OF_DATA : '\r\n');
      if (end === -1) return;
      const line = input.slice(0, end);
      input = input.slice(end + (isInData ? END_OF_DATA.length : 2));
      if (isInData) {
        isInData = false;
        arrived(recipient);
        reply('250 2.0.0 Ok');
        continue;
      }
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === 'RCPT') recipient = /<([^>]*)>/.exec(line)?.[1] ?? '';
      isInData = verb === 'DATA';
      if (verb === 'QUIT') socket.end('221 2.0.0 Bye\r\n');
      else if (verb === 'EHLO') reply('250-receiver.bench.test\r\n250-PIPELINING\r\n250 8BITMIME');
      else reply(isInData ? '354 Go ahead' : '250 2.0.0 Ok');
    }
  });
  reply('220 receiver.bench.test');
}

function arrived(recipient) {
  arrivals.set(recipient, performance.timeOrigin + performance.now());
  for (const waiter of waiters) {
    waiter.open.delete(recipient);
    if (waiter.open.size > 0) continue;
    waiters.delete(waiter);
    waiter.done();
  }
}
