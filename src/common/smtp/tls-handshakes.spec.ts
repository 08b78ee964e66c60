import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { TEST_CERTIFICATE } from '../../../test/doubles/tls-certificate';
import { clientHello } from '../../../test/setup/client-hello';
import { waitFor } from '../../../test/setup/wait-for';
import { CONNECTION_TURNS, SharedTurns } from '../async/shared-turns';
import { type HandshakeLimits, ServerHandshakes } from '../tls/server-handshakes';
import { BulkSmtpServer } from './bulk-smtp-server';

const LONG_MS = 60_000;
let server: BulkSmtpServer;
let clients: Socket[];

const LIMITS: HandshakeLimits = {
  ms: LONG_MS,
  contestedMs: LONG_MS,
  inAll: 200,
  ofClient: 20,
  waiting: 20,
  retries: { inAll: 8, ofClient: 2 },
};

async function listen(secure: boolean, limits: Partial<HandshakeLimits>, turns?: SharedTurns): Promise<void> {
  const { key, cert } = TEST_CERTIFICATE;
  const options = { key, cert, secure, authOptional: true, logger: false, disableReverseLookup: true, closeTimeout: 1 };
  const handshakes = new ServerHandshakes({ ...LIMITS, ...limits });
  server = new BulkSmtpServer(options, handshakes, turns);
  server.on('error', () => undefined);
  clients = [];
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
}

afterEach(async () => {
  for (const client of clients) client.destroy();
  await new Promise<void>((resolve) => server.close(resolve));
});

/** A connection on which TLS may begin. */
async function ready(secure: boolean, localAddress = '127.0.0.1'): Promise<Socket> {
  const { port } = server.server.address() as AddressInfo;
  const client = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  clients.push(client);
  for (const line of secure ? [] : ['EHLO client.example\r\n', 'STARTTLS\r\n']) {
    await once(client, 'data');
    client.write(line);
  }
  if (!secure) await once(client, 'data');
  return client;
}

it('is ended from above while STARTTLS is under way', async () => {
  await listen(false, {});
  const opened = once(server.server, 'connection');
  const client = await ready(false);
  const [socket] = (await opened) as [Socket];
  expect(server.topOf(socket)).toBe(socket);
  client.write(await clientHello());
  await once(client, 'data');
  const top = server.topOf(socket);
  expect(top).toBeInstanceOf(TLSSocket);
  top.destroy();
  await waitFor(() => client.closed, { what: 'the end' });
});

describe.each([
  ['STARTTLS', false],
  ['TLS from the start', true],
])('handshakes: %s', (_name, secure) => {
  it('end when they take too long, whatever has come of them', async () => {
    await listen(secure, { ms: 100 });
    const hello = await clientHello();
    for (const sent of [Buffer.alloc(0), hello.subarray(0, 20), hello]) {
      const client = await ready(secure);
      client.write(sent);
      client.resume();
      await waitFor(() => client.closed, { what: 'the end' });
    }
    await waitFor(() => server.connections.size === 0, { what: 'no session' });
  });

  it('begin with a ClientHello that has waited for its turn', async () => {
    class LaterTurns extends SharedTurns {
      override isFree = () => false;
    }
    await listen(secure, {}, new LaterTurns());
    const client = connectTls({ socket: await ready(secure), rejectUnauthorized: false });
    await once(client, 'secureConnect');
    client.destroy();
  });

  it('are followed by a session in which what the client sends, its end included, waits for its turn', async () => {
    await listen(secure, {});
    const opened = once(server.server, 'connection');
    const client = connectTls({ socket: await ready(secure), rejectUnauthorized: false });
    const [socket] = (await opened) as [Socket];
    await once(client, 'secureConnect');
    const [session] = await waitFor(() => server.connections.size > 0 && [...server.connections], {
      what: 'the session',
    });
    await waitFor(() => session?.secure, { what: 'TLS' });
    const held: (() => void)[] = [];
    const isFree = jest.spyOn(CONNECTION_TURNS, 'isFree').mockReturnValue(false);
    const run = jest.spyOn(CONNECTION_TURNS, 'run').mockImplementation((_client, work) => void held.push(work));
    const before = socket.bytesRead;
    client.end();
    await waitFor(() => socket.bytesRead > before, { what: 'the end' });
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const isEnded = session?._socket.readableEnded;
    isFree.mockRestore();
    run.mockRestore();
    for (const work of held) work();
    expect(isEnded).toBe(false);
    await waitFor(() => server.connections.size === 0, { what: 'the end of the session' });
  });

  it('are followed by a session in which all commands are processed, however many come at the same moment', async () => {
    await listen(secure, {});
    const client = connectTls({ socket: await ready(secure), rejectUnauthorized: false });
    const count = 8_000;
    let replies = '';
    client.on('data', (chunk: Buffer) => (replies += chunk.toString('latin1')));
    await once(client, 'secureConnect');
    if (secure) await waitFor(() => replies, { what: 'the banner' });
    client.write(`EHLO client.example\r\n${'NOOP and some words\r\n'.repeat(count)}QUIT\r\n`);
    await once(client, 'end');
    expect(replies.match(/^250 .*OK\r$/gm)).toHaveLength(count);
  });

  it('of one client wait while as many are under way as it may have, and the rest are disconnected', async () => {
    await listen(secure, { ofClient: 2, waiting: 1 });
    const hello = await clientHello();
    const replied = new Set<Socket>();
    for (let count = 0; count < 4; count += 1) {
      const client = await ready(secure);
      client.on('data', () => replied.add(client)).write(hello);
      if (count < 2) await waitFor(() => replied.has(client), { what: 'a ServerHello' });
    }
    const waiting = clients.slice(2);
    await waitFor(() => waiting.some(({ closed }) => closed), { what: 'the one too many' });
    expect(replied.size).toBe(2);
    clients[0]?.destroy();
    await waitFor(() => waiting.some((client) => replied.has(client)), { what: 'the turn of the one that waited' });
  });

  /** Resolves when the server has read it. */
  const helloFrom = async (localAddress: string, hello: Buffer): Promise<Socket & { isServed?: boolean }> => {
    const opened = once(server.server, 'connection');
    const client: Socket & { isServed?: boolean } = await ready(secure, localAddress);
    const [socket] = (await opened) as [Socket];
    client.on('data', () => (client.isServed = true)).write(hello);
    await waitFor(() => socket.bytesRead >= hello.length, { what: 'the ClientHello' });
    return client;
  };
  const [ONE, OTHER] = ['127.0.0.1', '127.0.0.2'];

  it('of the network with the fewest are next, when as many are under way as there may be', async () => {
    await listen(secure, { inAll: 2 });
    const hello = await clientHello();
    const [first, second] = [await helloFrom(ONE, hello), await helloFrom(ONE, hello)];
    await waitFor(() => first.isServed && second.isServed, { what: 'two under way' });
    const third = await helloFrom(ONE, hello);
    const other = await helloFrom(OTHER, hello);
    for (const next of [other, third]) {
      expect(next.isServed).toBeUndefined();
      (next === other ? first : second).destroy();
      await waitFor(() => next.isServed, { what: 'the next' });
    }
  });

  it('give way when they take long, to a network that has fewer under way', async () => {
    await listen(secure, { inAll: 2, contestedMs: 0 });
    const hello = await clientHello();
    const own = [await helloFrom(ONE, hello), await helloFrom(ONE, hello)];
    await waitFor(() => own.every(({ isServed }) => isServed), { what: 'two under way' });
    const other = await helloFrom(OTHER, hello);
    await waitFor(() => other.isServed, { what: 'the other network' });
    await waitFor(() => own.some(({ closed }) => closed), { what: 'one that gave way' });
    expect(own.every(({ closed }) => closed)).toBe(false);
  });

  it('give way when they take long, to the next of their own network too: a proxy is one', async () => {
    await listen(secure, { ms: 10 * LONG_MS, ofClient: 1, contestedMs: 0 });
    const hello = await clientHello();
    const silent = await helloFrom(ONE, hello);
    await waitFor(() => silent.isServed, { what: 'the one under way' });
    const next = await helloFrom(ONE, hello);
    await waitFor(() => next.isServed && silent.closed, { what: 'the next' });
  });

  it('give way when their timer fires, which may be earlier than by the clock', async () => {
    await listen(secure, { ms: 10 * LONG_MS, inAll: 1, contestedMs: 50 });
    jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    const hello = await clientHello();
    const first = await helloFrom(ONE, hello);
    const other = await helloFrom(OTHER, hello);
    await waitFor(() => other.isServed && first.closed, { what: 'the other network' });
  });

  const ofOwner = ['127.0.1.1', '127.0.1.2', '127.0.1.3'] as const;

  it('of networks of one owner count together: another owner is next, and has room', async () => {
    await listen(secure, { inAll: 4, ofClient: 1 });
    const hello = await clientHello();
    const own: (Socket & { isServed?: boolean })[] = [];
    for (const address of ofOwner) own.push(await helloFrom(address, hello));
    const served = () => own.filter(({ isServed }) => isServed);
    await waitFor(() => served().length === 2, { what: 'half of the places' });
    const other = await helloFrom('127.0.2.1', hello);
    await waitFor(() => other.isServed, { what: 'the other owner' });
    expect(served()).toHaveLength(2);
    served()[0]?.destroy();
    await waitFor(() => own.every(({ isServed }) => isServed), { what: 'the third' });
  });

  it('of the owner with the most give way when they take long', async () => {
    await listen(secure, { inAll: 3, ofClient: 3, contestedMs: 0 });
    const hello = await clientHello();
    const single = await helloFrom('127.0.2.1', hello);
    const own = [await helloFrom(ofOwner[0], hello), await helloFrom(ofOwner[1], hello)];
    await waitFor(() => [single, ...own].every(({ isServed }) => isServed), { what: 'three under way' });
    const other = await helloFrom('127.0.3.1', hello);
    await waitFor(() => other.isServed, { what: 'the other owner' });
    await waitFor(() => own.some(({ closed }) => closed), { what: 'one that gave way' });
    expect([single.closed, own.every(({ closed }) => closed)]).toEqual([false, false]);
  });

  it('that need a second ClientHello have few places, which are not those of the others', async () => {
    await listen(secure, { retries: { inAll: 1, ofClient: 1 } });
    const [retried, direct] = [await clientHello({ ecdhCurve: 'P-384:X25519' }), await clientHello()];
    const first = await helloFrom(ONE, retried);
    await waitFor(() => first.isServed, { what: 'a HelloRetryRequest' });
    const second = await helloFrom(OTHER, retried);
    const third = await helloFrom(OTHER, direct);
    await waitFor(() => third.isServed, { what: 'a ServerHello' });
    expect(second.isServed).toBeUndefined();
    first.destroy();
    await waitFor(() => second.isServed, { what: 'the next HelloRetryRequest' });
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('agree on keys that take little time: %s', async (version) => {
    await listen(secure, {});
    const secured = async (ecdhCurve: string): Promise<unknown> => {
      const client = connectTls({
        socket: await ready(secure),
        ecdhCurve,
        minVersion: version,
        maxVersion: version,
        rejectUnauthorized: false,
      });
      const key = new Promise((resolve, reject) => {
        client.once('error', reject).once('secureConnect', () => resolve(client.getEphemeralKeyInfo()));
      });
      return key.finally(() => client.destroy());
    };
    await expect(secured('P-384:P-521:P-256')).resolves.toMatchObject({ name: 'prime256v1' });
    await expect(secured('X25519:P-384:P-256')).resolves.toMatchObject({ name: 'X25519' });
    await expect(secured('P-384:P-521')).rejects.toThrow(/handshake failure/);
  });
});
