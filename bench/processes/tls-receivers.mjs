// The mail exchangers of many domains, each at a loopback address of its own, with STARTTLS or without; they take all mail.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { serve } from '../harness/helper.mjs';
import { serveNames } from '../harness/name-server.mjs';
import { load } from '../harness/product.mjs';

const { selfSigned } = load('./common/tls/self-signed.js');

const END_OF_DATA = '\r\n.\r\n';
const NETWORKS = { tls: '127.40', plain: '127.41' };
const secureContext = createSecureContext(selfSigned(new Date()));

let counts = none();
let waiting;

serve({
  /** @param domains how many of each kind: `tls0.test`, `plain0.test` and so on */
  start: async ({ domains }) => {
    // Whatever the address: they are too many for a listener each.
    const server = createServer({ noDelay: true }, welcome).listen(0, '0.0.0.0');
    await once(server, 'listening');
    const addresses = Object.entries(NETWORKS).flatMap(([kind, network]) =>
      Array.from({ length: domains }, (_, at) => [`${kind}${at}.test`, `${network}.${1 + (at >> 8)}.${at & 0xff}`]),
    );
    return { port: server.address().port, dnsServer: await serveNames(new Map(addresses)) };
  },
  reset: () => {
    counts = none();
  },
  /** `{taken, connections, handshakes, continued}` since the reset; `continued`: those of an earlier session. */
  counts: () => counts,
  /** Resolves when that many mails have been taken. */
  waitFor: ({ count }) =>
    new Promise((resolve) => {
      waiting = { count, resolve };
      notify();
    }),
});

function none() {
  return { taken: 0, connections: 0, handshakes: 0, continued: 0 };
}

function notify() {
  if (waiting === undefined || counts.taken < waiting.count) return;
  waiting.resolve(counts.taken);
  waiting = undefined;
}

function welcome(socket) {
  counts.connections += 1;
  socket.on('error', () => undefined);
  socket.write('220 mx.bench.test\r\n');
  converse(socket, socket.localAddress.startsWith(`${NETWORKS.tls}.`) ? '250-STARTTLS\r\n' : '');
}

function encrypt(plain) {
  plain.removeAllListeners('data');
  const socket = new TLSSocket(plain, { isServer: true, secureContext });
  socket.on('error', () => undefined);
  socket.once('secure', () => {
    counts.handshakes += 1;
    if (socket.isSessionReused()) counts.continued += 1;
  });
  converse(socket, '');
}

function converse(socket, offer) {
  let input = '';
  let isInData = false;
  socket.on('data', (chunk) => {
    input += chunk.latin1Slice();
    let replies = '';
    for (;;) {
      const end = input.indexOf(isInData ? END_OF_DATA : '\r\n');
      if (end === -1) break;
      const verb = isInData ? '.' : input.slice(0, 4).toUpperCase();
      input = input.slice(end + (isInData ? END_OF_DATA.length : 2));
      isInData = verb === 'DATA';
      if (verb === '.') taken();
      if (verb === 'STAR') {
        socket.write('220 2.0.0 Go ahead\r\n');
        return encrypt(socket);
      }
      if (verb === 'QUIT') return socket.end(`${replies}221 2.0.0 Bye\r\n`);
      replies += replyTo(verb, offer);
    }
    if (replies !== '') socket.write(replies, 'latin1');
  });
}

function taken() {
  counts.taken += 1;
  notify();
}

function replyTo(verb, offer) {
  if (verb === 'EHLO') return `250-mx.bench.test\r\n${offer}250-PIPELINING\r\n250 8BITMIME\r\n`;
  return verb === 'DATA' ? '354 Go ahead\r\n' : '250 2.0.0 Ok\r\n';
}
