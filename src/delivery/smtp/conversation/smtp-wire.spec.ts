import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import { TEST_CERTIFICATE } from '../../../../test/doubles/tls-certificate';
import { waitFor } from '../../../../test/setup/wait-for';
import { SmtpWire } from './smtp-wire';

const LONG = 60;
/** Long enough that what has been written on this machine has come. */
const someTurns = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};
const replyOf = (code: number, text = '') => ({ code, lines: [text] });

describe('a wire', () => {
  let server: Server;
  let remote: Socket | undefined;
  let received: string;
  let closed: number;
  let wire: SmtpWire;

  beforeEach(async () => {
    received = '';
    closed = 0;
    remote = undefined;
    server = createServer((socket) => {
      remote = socket.setEncoding('latin1').on('error', () => undefined);
      socket.on('data', (chunk: string) => (received += chunk));
    }).listen(0, '127.0.0.1');
    await waitFor(() => server.listening, { what: 'the server' });
    wire = new SmtpWire(() => (closed += 1));
  });
  afterEach(() => {
    wire.destroy();
    remote?.destroy();
    server.close();
  });

  const port = () => (server.address() as AddressInfo).port;
  const connect = async () => {
    expect(await wire.connect('127.0.0.1', port(), LONG)).toBeUndefined();
    await waitFor(() => remote !== undefined, { what: 'the connection' });
    return remote as Socket;
  };
  const faulted = () => waitFor(() => wire.fault !== undefined, { what: 'a fault' });

  it('connects, and says to whom, without TLS', async () => {
    expect(wire.remoteAddress).toBeUndefined();
    await connect();
    expect([wire.remoteAddress, wire.isSecure, wire.fault]).toEqual(['127.0.0.1', false, undefined]);
    expect(wire.encryption()).toBeUndefined();
    expect(wire.takeReply()).toBeUndefined();
  });

  it('leaves from the given address', async () => {
    expect(await wire.connect('127.0.0.1', port(), LONG, '127.0.0.2')).toBeUndefined();
    await waitFor(() => remote !== undefined, { what: 'the connection' });
    expect(remote?.remoteAddress).toBe('127.0.0.2');
  });

  it('says why it cannot connect', async () => {
    const unused = port();
    await new Promise((resolve) => server.close(resolve));
    const fault = await wire.connect('127.0.0.1', unused, LONG);
    expect(fault).toEqual({ cause: 'refused', detail: expect.stringContaining('ECONNREFUSED') });
    expect(closed).toBe(1);
    expect(await wire.connect('127.0.0.1', unused, LONG)).toBe(wire.fault);
  });

  it('gives the replies that are owed in their order, however they are cut', async () => {
    const socket = await connect();
    wire.expectBanner();
    wire.write('EHLO a\r\nMAIL \u00e9\r\n', 2);
    const banner = wire.reply(LONG);
    socket.write('220 hel');
    await someTurns();
    socket.write('lo\r\n250-a\r\n250 b\r\n');
    expect(await banner).toEqual(replyOf(220, 'hello'));
    expect(await wire.reply(LONG)).toEqual({ code: 250, lines: ['a', 'b'] });
    const last = wire.reply(LONG);
    socket.write('550 no\r\n');
    expect(await last).toEqual(replyOf(550, 'no'));
    await waitFor(() => received.length > 15, { what: 'the commands' });
    expect(received).toBe('EHLO a\r\nMAIL \u00e9\r\n');
    expect([wire.fault, closed]).toEqual([undefined, 0]);
  });

  it('writes in UTF-8 where it is requested, and buffers unchanged', async () => {
    await connect();
    wire.write('\u00e9', 0, 'utf8');
    wire.write(Buffer.from([0xff, 0x00]), 1);
    await waitFor(() => received.length === 4, { what: 'four bytes' });
    expect(received).toBe('\u00c3\u00a9\u00ff\u0000');
  });

  it('keeps what has come for later, and takes it without waiting', async () => {
    const socket = await connect();
    wire.write('NOOP\r\nNOOP\r\n', 2);
    socket.write('250 one\r\n250 two\r\n');
    expect(await wire.reply(LONG)).toEqual(replyOf(250, 'one'));
    expect(wire.takeReply()).toEqual(replyOf(250, 'two'));
    expect(wire.takeReply()).toBeUndefined();
  });

  it.each([
    ['a reply that is not owed', '250 surprise\r\n', 'a reply that was not asked for: "250 surprise"'],
    ['bytes that are not owed', '25', 'bytes that were not asked for'],
  ])('takes %s for a fault', async (_what, bytes, detail) => {
    const socket = await connect();
    socket.write(bytes);
    await faulted();
    expect(wire.fault).toEqual({ cause: 'protocol', detail: `The server does not keep to SMTP: ${detail}` });
    expect(closed).toBe(1);
    await waitFor(() => socket.destroyed || socket.readableEnded, { what: 'the end' });
  });

  it('takes a second reply to one command for a fault, and keeps the first one', async () => {
    const socket = await connect();
    wire.write('NOOP\r\n', 1);
    socket.write('250 ok\r\n250 again\r\n250 and again\r\n');
    await faulted();
    expect(await wire.reply(LONG)).toEqual(replyOf(250, 'ok'));
    expect(await wire.reply(LONG)).toMatchObject({
      cause: 'protocol',
      detail: expect.stringMatching(/that was not asked for: "250 again"$/) as unknown,
    });
    expect(closed).toBe(1);
  });

  it('takes what is no reply for a fault', async () => {
    const socket = await connect();
    wire.write('NOOP\r\n', 1);
    const reply = wire.reply(LONG);
    socket.write('hello\r\n');
    const detail = 'The server does not keep to SMTP: not a reply line: "hello"';
    expect(await reply).toMatchObject({ cause: 'protocol', detail });
    expect(closed).toBe(1);
  });

  it('takes one early reply, and no more, while a message is written', async () => {
    const socket = await connect();
    wire.acceptsEarlyReply = true;
    const written = wire.writeBlock(Buffer.alloc(8 * 1024 * 1024), LONG);
    socket.pause();
    socket.write('552 too');
    await someTurns();
    expect(wire.fault).toBeUndefined();
    socket.write(' large\r\n');
    expect(await written).toBeUndefined();
    expect(await wire.reply(LONG)).toEqual(replyOf(552, 'too large'));
    socket.write('552 one\r\n');
    expect(await wire.reply(LONG)).toEqual(replyOf(552, 'one'));
    socket.write('552 two\r\n552 three\r\n');
    await faulted();
    expect(wire.takeReply()).toEqual(replyOf(552, 'two'));
    expect(wire.fault).toMatchObject({ detail: expect.stringMatching(/asked for: "552 three"$/) as unknown });
  });

  it('waits until a block is taken', async () => {
    await connect();
    expect(await wire.writeBlock(Buffer.from('abc'), LONG)).toBeUndefined();
    await waitFor(() => received === 'abc', { what: 'the block' });
    wire.destroy();
    expect(await wire.writeBlock(Buffer.from('d'), LONG)).toMatchObject({ cause: 'aborted' });
    expect(received).toBe('abc');
  });

  it('reads replies that came before the end, and then reports the end', async () => {
    const socket = await connect();
    wire.write('QUIT\r\n', 1);
    socket.end('421 bye\r\n');
    await faulted();
    expect(await wire.reply(LONG)).toEqual(replyOf(421, 'bye'));
    expect(await wire.reply(LONG)).toMatchObject({ cause: 'closed' });
    expect(closed).toBe(1);
  });

  it('reports a reset', async () => {
    const socket = await connect();
    const reply = wire.reply(LONG);
    socket.resetAndDestroy();
    expect(await reply).toMatchObject({ cause: 'reset' });
  });

  it('ends by itself when nothing comes in time', async () => {
    const socket = await connect();
    wire.write('NOOP\r\n', 1);
    expect(await wire.reply(0.01)).toEqual({ cause: 'timeout', detail: 'The server did not answer in time' });
    expect(closed).toBe(1);
    await waitFor(() => socket.destroyed || socket.readableEnded, { what: 'the end' });
  });

  it('is not hurried by the time of an earlier wait', async () => {
    const socket = await connect();
    wire.write('NOOP\r\n', 1);
    const reply = wire.reply(LONG);
    socket.write('250 ok\r\n');
    await reply;
    expect(wire.deadline.elapsedMs).toBe(0);
  });

  it('is faulted once, for good', async () => {
    await connect();
    const reply = wire.reply(LONG);
    wire.destroy();
    wire.destroy({ cause: 'timeout', detail: 'later' });
    expect(await reply).toMatchObject({ cause: 'aborted' });
    expect([wire.fault?.cause, closed]).toEqual(['aborted', 1]);
    wire.write('NOOP\r\n', 1);
    expect(await wire.encrypt({}, 'holder', LONG)).toMatchObject({ cause: 'aborted' });
    expect(wire.isSecure).toBe(false);
    expect(received).toBe('');
  });

  it('puts TLS on the connection, and goes on as before', async () => {
    const socket = await connect();
    socket.removeAllListeners('data');
    const { key, cert } = TEST_CERTIFICATE;
    const secured = new TLSSocket(socket, { isServer: true, key, cert }).on('error', () => undefined);
    secured.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    expect(await wire.encrypt({ rejectUnauthorized: false }, 'holder', LONG)).toBeUndefined();
    expect([wire.isSecure, wire.fault]).toEqual([true, undefined]);
    expect(wire.encryption()).toEqual({
      ...{ version: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384' },
      ...{ verified: false, fault: 'certificate-not-trusted' },
    });
    wire.write('EHLO b\r\n', 1);
    await waitFor(() => received === 'EHLO b\r\n', { what: 'the command' });
    const reply = wire.reply(LONG);
    secured.write('250 ok\r\n');
    expect(await reply).toEqual(replyOf(250, 'ok'));
    secured.end();
    await faulted();
    expect(wire.fault).toMatchObject({ cause: 'closed' });
    expect(closed).toBe(1);
    await waitFor(() => wire.encryption()?.cipher === '', { what: 'the end of the cipher' });
    expect(wire.encryption()).toMatchObject({ version: '', cipher: '', verified: false });
  });

  it('reports a certificate that it does not trust', async () => {
    const socket = await connect();
    socket.removeAllListeners('data');
    const { key, cert } = TEST_CERTIFICATE;
    new TLSSocket(socket, { isServer: true, key, cert }).on('error', () => undefined);
    expect(await wire.encrypt({}, 'holder', LONG)).toMatchObject({ cause: 'tls' });
    expect([wire.isSecure, closed]).toEqual([false, 1]);
  });

  it('is closed before it is connected, and then connects to nothing', async () => {
    wire.destroy();
    expect(await wire.connect('127.0.0.1', port(), LONG)).toMatchObject({ cause: 'aborted' });
    expect(await wire.encrypt({}, 'holder', LONG)).toMatchObject({ cause: 'aborted' });
    expect([closed, remote]).toEqual([1, undefined]);
  });

  it('does nothing before it is connected', async () => {
    wire.write('NOOP\r\n', 1);
    expect(await wire.writeBlock(Buffer.from('a'), LONG)).toBeUndefined();
    expect(await wire.encrypt({}, 'holder', LONG)).toBeUndefined();
    const socket = await connect();
    expect(received).toBe('');
    socket.write('250 for nothing\r\n');
    await faulted();
    expect(wire.fault).toMatchObject({ cause: 'protocol' });
  });
});
