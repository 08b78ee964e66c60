import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { reset } from '../../../test/doubles/reset-socket';
import { PerTurn } from '../../../test/setup/loop-turns';
import { waitFor } from '../../../test/setup/wait-for';
import { SharedTurns } from './shared-turns';
import { socketInTurns } from './socket-turns';

const CLIENTS = 200;
/** Pieces that a turn has time for: what waits and what comes may each take them. */
const MOST = 10;

describe('socketInTurns', () => {
  const open: { close(): void }[] = [];
  let turns: SharedTurns;
  /** The server's ends of the connections. */
  let accepted: Socket[];
  let requests: PerTurn;
  let ends: PerTurn;
  let closings: PerTurn;
  beforeEach(() => {
    let nowMs = 0;
    turns = new SharedTurns(() => (nowMs += 1));
    [accepted, requests, ends, closings] = [[], new PerTurn(), new PerTurn(), new PerTurn()];
  });
  afterEach(() => open.splice(0).forEach((one) => one.close()));

  async function listen(server: Server): Promise<number> {
    // Of this test: those of the one before may still close.
    const [ended, closed] = [ends, closings];
    server.on('connection', (socket: Socket) => {
      accepted.push(socket);
      socketInTurns(socket, 'a', turns);
      // As every server here does: what a connection receives goes to JavaScript.
      socket.on('data', () => undefined).on('error', () => undefined);
      socket.on('end', () => ended.count()).on('close', () => closed.count());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push({ close: () => (server.close(), accepted.forEach((socket) => socket.destroy())) });
    return (server.address() as AddressInfo).port;
  }

  async function connected(port: number, count = CLIENTS): Promise<Socket[]> {
    const clients = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
    for (const client of clients) {
      client.on('data', () => undefined).on('error', () => undefined);
      open.push({ close: () => client.destroy() });
    }
    await waitFor(() => accepted.length === count, { what: 'all connections' });
    return clients;
  }

  const all = (things: PerTurn) => waitFor(() => things.total === CLIENTS, { what: 'all of them' });
  const http = () => createHttpServer((_request, response) => (requests.count(), response.end('ok')));

  /** For so many turns of the event loop no other piece has its turn. */
  const occupy = (count: number): void => {
    for (let piece = 0; piece < count; piece += 1) turns.run('a', () => undefined);
  };

  it('serves requests that come at the same moment, a few in a turn', async () => {
    const clients = await connected(await listen(http()));
    for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await all(requests);
    expect(requests.most).toBeLessThanOrEqual(MOST);
  });

  it('closes connections that end at the same moment, a few in a turn', async () => {
    const clients = await connected(await listen(http()));
    for (const client of clients) client.end();
    await all(closings);
    expect(ends.most).toBeLessThanOrEqual(MOST);
    expect(closings.most).toBeLessThanOrEqual(MOST);
  });

  it('closes connections that are reset at the same moment, a few in a turn', async () => {
    const clients = await connected(await listen(http()));
    for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: a\r\n');
    for (const client of clients) reset(client);
    await all(closings);
    expect(closings.most).toBeLessThanOrEqual(MOST);
  });

  it('closes connections that the server destroys at the same moment, a few in a turn', async () => {
    await connected(await listen(http()));
    for (const socket of accepted) socket.destroy();
    expect(accepted.every(({ destroyed }) => destroyed)).toBe(true);
    await all(closings);
    expect(closings.most).toBeLessThanOrEqual(MOST);
  });

  it('hands on everything in order, the end last', async () => {
    const port = await listen(createServer({ allowHalfOpen: true }));
    const [client] = (await connected(port, 1)) as [Socket];
    const [socket] = accepted as [Socket];
    let received = '';
    socket.on('data', (bytes: Buffer) => (received += bytes.toString()));
    const text = Array.from({ length: 20_000 }, (_, index) => `<${index}>`).join('');
    for (let at = 0; at < text.length; at += 1_000) {
      occupy(20);
      client.write(text.slice(at, at + 1_000));
      await nextTurn();
    }
    occupy(100);
    client.end();
    await once(socket, 'end');
    expect(received).toBe(text);
    socket.end('done');
    await once(client, 'close');
  });

  it('drops what comes after a connection was destroyed, although it is not closed yet', async () => {
    const [client] = (await connected(await listen(createServer()), 1)) as [Socket];
    const [socket] = accepted as [Socket];
    let received = '';
    socket.on('data', (bytes: Buffer) => (received += bytes.toString()));
    occupy(2_000);
    socket.destroy();
    for (let turn = 0; turn < 50; turn += 1) {
      client.write('late');
      await nextTurn();
    }
    expect(closings.total).toBe(0);
    await waitFor(() => closings.total === 1 && client.closed, { what: 'both ends to close' });
    expect(received).toBe('');
  });

  it('ends at once when there is time', async () => {
    const [client] = (await connected(await listen(createServer()), 1)) as [Socket];
    await nextTurn();
    accepted[0]?.destroy();
    await once(client, 'close');
    expect(closings.total).toBe(1);
  });
});
