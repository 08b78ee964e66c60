// The usual way to send mail from Node: Nodemailer with a pool of connections and its own DKIM.
import { createTransport } from 'nodemailer';
import { serve } from '../harness/helper.mjs';

const CONNECTIONS = 10;
/** Enough that each connection always has a next mail. */
const UNDER_WAY = 2 * CONNECTIONS;

let transport;

serve({
  start: ({ port, privateKey }) => {
    transport = createTransport({
      host: '127.0.0.1',
      port,
      pool: true,
      maxConnections: CONNECTIONS,
      dkim: { domainName: 'bench.test', keySelector: 'wb1', privateKey },
    });
  },
  run: async ({ bodies, seconds }) => {
    const begin = performance.now();
    const until = begin + seconds * 1_000;
    let count = 0;
    const send = async () => {
      while (performance.now() < until) {
        const { from, to, subject, text, html } = bodies[count % bodies.length];
        count += 1;
        await transport.sendMail({ from, to, subject, text, html });
      }
    };
    await Promise.all(Array.from({ length: UNDER_WAY }, send));
    return { count, seconds: (performance.now() - begin) / 1_000 };
  },
});
