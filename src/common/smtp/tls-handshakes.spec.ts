import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { TEST_CERTIFICATE } from '../../../test/doubles/tls-certificate';
import { clientHello } from '../../../test/setup/client-hello';
import { waitFor } from '../../../test/setup/wait-for';
import { type HandshakeLimits, ServerHandshakes } from '../tls/server-handshakes';
import { BulkSmtpServer } from './bulk-smtp-server';

const LONG_MS = 60_000;
let server: BulkSmtpServer;
let clients: Socket[];

async function listen(secure: boolean, limits: Partial<HandshakeLimits>): Promise<void> {
  const { key, cert } = TEST_CERTIFICATE;
  const options = { key, cert, secure, logger: false, disableReverseLookup: true, closeTimeout: 1 };
  const handshakes = new ServerHandshakes({ ms: LONG_MS, ofClient: 20, waiting: 20, ...limits });
  server = new BulkSmtpServer(options, handshakes);
  server.on('error', () => undefined);
  clients = [];
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
}

afterEach(async () => {
  for (const client of clients) client.destroy();
  await new Promise<void>((resolve) => server.close(resolve));
});

/** A connection on which TLS may begin. */
async function ready(secure: boolean): Promise<Socket> {
  const client = connect((server.server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
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
});
