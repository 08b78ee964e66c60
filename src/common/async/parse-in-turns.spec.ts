import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net';
import { PerTurn } from '../../../test/setup/loop-turns';
import { waitFor } from '../../../test/setup/wait-for';
import { parseInTurns } from './parse-in-turns';

const TINY_CHUNKS = '1\r\nb\r\n'.repeat(10_000);
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';

/** Time enough for one piece. */
function slowClock() {
  let nowMs = 0;
  return { nowMs: () => (nowMs += 1) };
}

describe('parseInTurns', () => {
  const open: { close(): void }[] = [];
  afterEach(() => open.splice(0).forEach((one) => one.close()));

  async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
    const server = createServer(handle);
    server.on('connection', (socket) => parseInTurns(socket, () => 'a', slowClock()));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push({ close: () => (server.close(), server.closeAllConnections()) });
    return server;
  }

  /** Sends all at once; resolves with what comes back until `isAll`. */
  async function exchange(server: Server, bytes: string, isAll: (text: string) => boolean): Promise<string> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    open.push({ close: () => socket.destroy() });
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.write(bytes);
    await waitFor(() => isAll(text), { what: 'the answer' });
    return text;
  }

  it('reads a body of tiny chunks in many turns, and whole', async () => {
    const chunks = new PerTurn();
    const server = await serve((message, response) => {
      message.on('data', () => chunks.count()).once('end', () => response.end(`${chunks.total} chunks`));
    });
    const head = `POST / HTTP/1.1\r\nHost: a\r\n${CHUNKED}`;
    await exchange(server, `${head}${TINY_CHUNKS}0\r\n\r\n`, (text) => text.includes('10000 chunks'));
    expect(chunks.most).toBeLessThan(1_000);
  });

  it('begins few of many requests in one turn, and completes all of them in order', async () => {
    const requests = new PerTurn();
    const server = await serve(({ url }, response) => {
      requests.count();
      response.end(`<${url}>`);
    });
    const all = Array.from({ length: 1_500 }, (_, index) => `GET /${index} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const text = await exchange(server, all.join(''), (answers) => answers.includes('</1499>'));
    expect(text.match(/<\/\d+>/g)).toEqual(all.map((_, index) => `</${index}>`));
    expect(requests.most).toBeLessThan(100);
  });

  it('reads no further than who takes the body, or the responses, does', async () => {
    let message: IncomingMessage | undefined;
    const server = await serve((taken) => (message = taken));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    open.push({ close: () => socket.destroy() });
    const written = new Promise((resolve) => socket.once('drain', resolve));
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n`);
    while (socket.write(Buffer.alloc(65_536)));
    await written;
    // More than the buffers of both sides take.
    for (let block = 0; block < 400; block += 1) socket.write(Buffer.alloc(65_536));
    await waitFor(() => (message?.readableLength ?? 0) > 0, { what: 'the body' });
    for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(message?.readableLength).toBeLessThan(200_000);
    let bytes = 0;
    message?.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await waitFor(() => bytes >= 400 * 65_536, { what: 'all of it' });
  });

  it('leaves a connection alone that is at its end, or no longer one of HTTP', async () => {
    const server = await serve((_message, response) => response.end('done'));
    server.on('connect', (_message: IncomingMessage, socket: Socket) => socket.end('no proxy'));
    const request = `CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${TINY_CHUNKS}`;
    expect(await exchange(server, request, (text) => text.length > 0)).toBe('no proxy');
    expect(await exchange(server, `${TINY_CHUNKS}`, (text) => text.length > 0)).toMatch(/^HTTP\/1.1 400/);
  });

  it('reads the answer of a server likewise', async () => {
    const server = createNetServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${CHUNKED}${TINY_CHUNKS}0\r\n\r\n`));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push(server);
    const chunks = new PerTurn();
    const asking = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', agent: false });
    asking.once('socket', (socket) => parseInTurns(socket, () => 'a', slowClock()));
    asking.end();
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    answer.on('data', () => chunks.count());
    await once(answer, 'end');
    expect(chunks.total).toBe(10_000);
    expect(chunks.most).toBeLessThan(1_000);
  });
});
