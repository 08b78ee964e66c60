// A receiving server that accepts all mail and keeps only a count.
import { createServer } from 'node:net';
import { serve } from '../harness/helper.mjs';

const END_OF_DATA = Buffer.from('\r\n.\r\n');
const GREETING = '220 sink.bench.test\r\n';
const OFFER = '250-sink.bench.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n';

let taken = 0;
let waiting;

serve({
  start: () =>
    new Promise((resolve) => {
      const server = createServer({ noDelay: true }, (socket) => new Session(socket));
      server.listen(0, '127.0.0.1', () => resolve({ port: server.address().port }));
    }),
  /** Sets the count to 0. */
  reset: () => {
    taken = 0;
  },
  count: () => taken,
  /** Resolves when that many have been accepted. */
  waitFor: ({ count }) =>
    new Promise((resolve) => {
      waiting = { count, resolve };
      notify();
    }),
});

function notify() {
  if (waiting === undefined || taken < waiting.count) return;
  waiting.resolve(taken);
  waiting = undefined;
}

/** Commands, until DATA; then content, until a line with a dot alone; then commands again. */
class Session {
  pending = Buffer.alloc(0);
  inData = false;

  constructor(socket) {
    this.socket = socket;
    socket.on('error', () => undefined).on('data', (chunk) => this.take(chunk));
    socket.write(GREETING);
  }

  take(chunk) {
    let rest = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
    let replies = '';
    for (;;) {
      const end = this.inData ? endOfData(rest) : endOfLine(rest);
      if (end === -1) break;
      replies += this.inData ? this.endMessage() : this.replyTo(rest.latin1Slice(0, 4));
      rest = rest.subarray(end);
    }
    this.pending = rest;
    if (replies !== '') this.socket.write(replies, 'latin1');
  }

  endMessage() {
    this.inData = false;
    taken += 1;
    if (waiting) notify();
    return '250 2.0.0 Ok\r\n';
  }

  replyTo(verb) {
    if (verb === 'DATA') {
      this.inData = true;
      return '354 Go ahead\r\n';
    }
    if (verb === 'EHLO') return OFFER;
    if (verb === 'QUIT') this.socket.end();
    return verb === 'QUIT' ? '221 2.0.0 Bye\r\n' : '250 2.1.0 Ok\r\n';
  }
}

function endOfLine(bytes) {
  const at = bytes.indexOf(0x0a);
  return at === -1 ? -1 : at + 1;
}

function endOfData(bytes) {
  const at = bytes.indexOf(END_OF_DATA);
  return at === -1 ? -1 : at + END_OF_DATA.length;
}
