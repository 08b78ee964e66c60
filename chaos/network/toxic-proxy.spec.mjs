import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { ToxicProxy } from './toxic-proxy.mjs';

let received;
let server;
let proxy;
let client;

/** A server that echoes, a proxy before it and one client of it. */
beforeEach(async () => {
  received = '';
  server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .on('data', (chunk) => {
        received += chunk;
        socket.write(chunk);
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await new ToxicProxy({ host: '127.0.0.1', port: server.address().port }).listen();
  client = await join();
});

afterEach(async () => {
  client.destroy();
  await proxy.stop();
  server.close();
});

async function join() {
  const socket = connect({ port: proxy.port, host: '127.0.0.1' });
  socket.echoed = '';
  socket.on('error', () => undefined).on('data', (chunk) => (socket.echoed += chunk));
  await once(socket, 'connect');
  return socket;
}

async function ask(socket, text) {
  const end = socket.echoed.length + text.length;
  socket.write(text);
  while (socket.echoed.length < end) await once(socket, 'data');
  return socket.echoed;
}

/** Data written by then has passed, if any data passes. */
async function settle() {
  const other = connect({ port: server.address().port, host: '127.0.0.1' });
  for (let round = 0; round < 5; round += 1) {
    other.write('.');
    await once(other, 'data');
  }
  other.destroy();
  received = received.replaceAll('.', '');
}

describe('a toxic proxy', () => {
  it('relays both ways', async () => {
    expect(await ask(client, 'hello')).toBe('hello');
  });

  it('delays, and keeps the order when the delay ends', async () => {
    proxy.toxic = { latencyMs: 40 };
    const begin = performance.now();
    client.write('one ');
    await settle();
    proxy.toxic = undefined;
    expect(await ask(client, 'two')).toBe('one two'.slice(0, client.echoed.length));
    while (client.echoed !== 'one two') await once(client, 'data');
    expect(performance.now() - begin).toBeGreaterThanOrEqual(39);
  });

  it('cuts after so many bytes, and not before', async () => {
    await ask(client, 'before ');
    proxy.toxic = { cutAfterBytes: 5 };
    client.write('12345678');
    const [error] = await once(client, 'error');
    expect(error.code).toBe('ECONNRESET');
    await settle();
    // The reset may overtake data that has passed.
    expect(['before ', 'before 12345']).toContain(received);
  });

  it('lets nothing pass in a black hole, in old and new connections, and everything afterwards', async () => {
    await ask(client, 'a');
    proxy.toxic = { blackHole: true };
    const late = await join();
    client.write('b');
    late.write('c');
    await settle();
    expect(received).toBe('a');
    proxy.toxic = undefined;
    while (client.echoed !== 'ab') await once(client, 'data');
    while (late.echoed !== 'c') await once(late, 'data');
    late.destroy();
  });

  it('resets new connections, and leaves the old ones', async () => {
    await ask(client, 'a');
    proxy.toxic = { resetNew: true };
    const refused = connect({ port: proxy.port, host: '127.0.0.1' });
    const [error] = await once(refused, 'error');
    expect(error.code).toBe('ECONNRESET');
    expect(await ask(client, 'b')).toBe('ab');
  });

  it('takes new connections and nothing more, and leaves the old ones', async () => {
    await ask(client, 'a');
    proxy.toxic = { silenceNew: true };
    const silent = await join();
    silent.write('x');
    await settle();
    expect([received, await ask(client, 'b')]).toEqual(['a', 'ab']);
    silent.destroy();
  });

  it('resets everything when asked to', async () => {
    await ask(client, 'a');
    proxy.reset();
    const [error] = await once(client, 'error');
    expect(error.code).toBe('ECONNRESET');
  });
});
