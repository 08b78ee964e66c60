import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { PerTurn } from '../../../../test/setup/loop-turns';
import { waitFor } from '../../../../test/setup/wait-for';
import { PipelinedRequests } from './pipelined-requests';

const get = (path: number | string): string => `GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe('PipelinedRequests', () => {
  const open: { close(): void }[] = [];
  /** Those that are being served. */
  let serving: ServerResponse[];
  let begun: string[];
  let parsed: number;
  /** The server's ends of the connections. */
  let accepted: Socket[];
  let port: number;
  /** Of each request, before anything is waited for. */
  let tookMs: number;

  beforeEach(async () => {
    [serving, begun, accepted, parsed, tookMs] = [[], [], [], 0, 0];
    const server = createServer((request: IncomingMessage, response: ServerResponse) => {
      parsed += 1;
      PipelinedRequests.serve(request, response, () => {
        serving.push(response);
        begun.push(request.url ?? '');
        for (const end = performance.now() + tookMs; performance.now() < end;);
      });
    });
    PipelinedRequests.of(server, () => 'a');
    server.on('connection', (socket) => accepted.push(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push({ close: () => (server.close(), server.closeAllConnections()) });
    port = (server.address() as AddressInfo).port;
  });
  afterEach(() => open.splice(0).forEach((one) => one.close()));

  function client(text: string): { socket: Socket; received: () => string } {
    const socket = connect(port, '127.0.0.1');
    open.push({ close: () => socket.destroy() });
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.write(text);
    return { socket, received: () => received };
  }

  const begins = (count: number) => waitFor(() => begun.length === count, { what: `request ${count} to begin` });

  it('serves one of a connection at a time, in order, and of each connection one', async () => {
    const all = Array.from({ length: 40 }, (_, index) => index);
    const { received } = client(all.map(get).join(''));
    client(get('other'));
    await begins(2);
    expect(serving).toHaveLength(2);
    serving.splice(begun.indexOf('/other'), 1)[0]?.end('other');
    for (const index of all) {
      await begins(index + 2);
      expect(serving).toHaveLength(1);
      serving.pop()?.end(`<${index}>`);
    }
    await waitFor(() => received().includes('<39>'), { what: 'the last response' });
    expect(received().match(/<\d+>/g)).toEqual(all.map((index) => `<${index}>`));
  });

  it('parses a packet at most while one waits', async () => {
    const { socket } = client(get(0).repeat(20_000));
    await begins(1);
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(parsed).toBeLessThan(200);
    socket.destroy();
  });

  it('takes bodies along', async () => {
    const post = `POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n${'b'.repeat(50_000)}`;
    const { received } = client(post + post + get('y'));
    for (const count of [1, 2, 3]) {
      await begins(count);
      const response = serving.pop();
      const body = await response?.req.toArray();
      response?.end(`<${Buffer.concat(body ?? []).length}>`);
    }
    await waitFor(() => received().includes('<0>'), { what: 'the last response' });
    expect(received().match(/<\d+>/g)).toEqual(['<50000>', '<50000>', '<0>']);
  });

  it('serves none of those that wait when the connection is over', async () => {
    const { socket } = client(get(0) + get(1) + get(2));
    await begins(1);
    socket.destroy();
    await once(serving[0] as ServerResponse, 'close');
    const { received } = client(get(3) + get(4));
    await begins(2);
    serving[1]?.setHeader('connection', 'close').end('last');
    await waitFor(() => received().includes('last'), { what: 'the response' });
    client(get(5));
    await begins(3);
    expect(begun).toEqual(['/0', '/3', '/5']);
  });

  it('ends few connections in a turn of the event loop, however many have been idle for too long', async () => {
    const clients = Array.from({ length: 100 }, () => client(get('first')));
    await begins(100);
    for (const response of serving.splice(0)) response.end();
    await waitFor(() => clients.every(({ received }) => received() !== ''), { what: 'the responses' });
    const ended = new PerTurn();
    for (const socket of accepted) {
      const destroy = socket.destroy.bind(socket);
      socket.destroy = (error) => {
        ended.count();
        // As with thousands: a turn of the event loop has no time for all of them.
        for (const end = performance.now() + 1; performance.now() < end;);
        return destroy(error);
      };
    }
    for (const socket of accepted) socket.setTimeout(1);
    await waitFor(() => clients.every(({ socket }) => socket.closed), { what: 'the connections to end' });
    expect(ended.total).toBeGreaterThanOrEqual(100);
    expect(ended.most).toBeLessThanOrEqual(12);
  });

  it('serves a request that has come by the time at which its connection is ended for being idle', async () => {
    const { socket, received } = client(get('first'));
    await begins(1);
    serving.pop()?.end('one');
    await waitFor(() => received().endsWith('one\r\n0\r\n\r\n') || received().endsWith('one'), { what: 'a response' });
    accepted[0]?.setTimeout(1);
    socket.write(get('second'));
    // As if the process stood still: the timer is due before the request is read.
    for (const end = performance.now() + 5; performance.now() < end;);
    await begins(2);
    serving.pop()?.end('two');
    await waitFor(() => received().includes('two'), { what: 'the second response' });
  });

  it('begins few requests in a turn of the event loop, however many connections they come by', async () => {
    const perTurn: number[] = [];
    let isWatching = true;
    let seen = 0;
    const watch = () => {
      perTurn.push(begun.length - seen);
      seen = begun.length;
      if (isWatching) setImmediate(watch);
    };
    watch();
    const clients = Array.from({ length: 60 }, (_, connection) => client(get(connection)));
    await begins(60);
    for (const response of serving.splice(0)) response.end();
    await waitFor(() => clients.every(({ received }) => received() !== ''), { what: 'the first responses' });
    perTurn.length = 0;
    tookMs = 1;
    // All of them can be read at once.
    for (const { socket } of clients) socket.write(get('second'));
    await begins(120);
    isWatching = false;
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(3);
  });
});
