// The minimum that can send signed mail: messages composed beforehand, each signed by the product's signer in the
// thread pool, and written over ten persistent connections with pipelining.
import { createPrivateKey } from 'node:crypto';
import { connect } from 'node:net';
import { serve } from '../harness/helper.mjs';
import { load } from '../harness/product.mjs';

const CONNECTIONS = 10;
/** Signatures in progress: the thread pool must never be idle. */
const AHEAD = 32;

let sender;

serve({
  start: async ({ port, privateKey, bodies }) => {
    const { composeMessage } = load('./delivery/message/compose-message.js');
    const { signMessage } = load('./delivery/dkim/sign-message.js');
    const { newId } = load('./common/ids.js');
    const key = { domain: 'bench.test', selector: 'wb1', privateKey: createPrivateKey(privateKey) };
    const date = new Date();
    const messages = await Promise.all(bodies.map((body) => composeMessage(toMessage(body, newId(), date))));
    const sign = (index) => signMessage(messages[index % messages.length], key, { signedAt: date });
    const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(port)));
    sender = { sign, connections, bodies };
  },
  run: ({ seconds }) => run(sender, seconds),
});

function toMessage({ to: [email], subject, text, html }, emailId, date) {
  const from = { name: 'Shop', email: 'orders@bench.test' };
  return {
    emailId,
    date,
    from,
    to: [{ email }],
    cc: [],
    replyTo: [],
    subject,
    text,
    html,
    headers: {},
    attachments: [],
  };
}

async function run({ sign, connections, bodies }, seconds) {
  const begin = performance.now();
  const until = begin + seconds * 1_000;
  let next = 0;
  let count = 0;
  const signing = [];
  const take = () => {
    while (signing.length < AHEAD) signing.push(sign(next++));
    return signing.shift();
  };
  const useConnection = async (connection) => {
    while (performance.now() < until) {
      const { to } = bodies[count % bodies.length];
      count += 1;
      await connection.send(`MAIL FROM:<b@bench.test>\r\nRCPT TO:<${to[0]}>\r\nDATA\r\n`, await take());
    }
  };
  await Promise.all(connections.map(useConnection));
  const taken = (performance.now() - begin) / 1_000;
  await Promise.all(signing);
  return { count, seconds: taken };
}

/** A connection that only counts reply lines. */
async function open(port) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let owed = 0;
  let wake;
  socket.on('data', (chunk) => {
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, at + 1)) owed -= 1;
    if (owed <= 0) wake?.();
  });
  const replies = (lines) => {
    owed += lines;
    return new Promise((resolve, reject) => {
      wake = resolve;
      socket.once('error', reject);
      if (owed <= 0) resolve();
    }).finally(() => socket.removeAllListeners('error'));
  };
  await replies(1);
  socket.write('EHLO bench.test\r\n');
  await replies(4);
  const send = async (envelope, message) => {
    socket.write(envelope, 'latin1');
    await replies(3);
    socket.write(Buffer.concat([message, FINAL_DOT]));
    await replies(1);
  };
  return { send };
}

const FINAL_DOT = Buffer.from('.\r\n');
