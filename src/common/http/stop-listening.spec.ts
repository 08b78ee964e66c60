import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { stopListening } from './stop-listening';

describe('stopListening', () => {
  const server = createServer((_request, response) => response.setHeader('connection', 'close').end('served'));
  const sockets: Socket[] = [];
  let port: number;

  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => sockets.forEach((socket) => socket.destroy()));

  const open = (): Socket => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    sockets.push(socket);
    return socket;
  };

  it('serves connections that the system has made already, and takes no others', async () => {
    const made = Array.from({ length: 5 }, open);
    // The driver of sockets connects in the next tick; on loopback the connection is then made.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    const stopped = stopListening(server);
    for (const socket of made) socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n');
    const answers = made.map(async (socket) => String((await once(socket, 'data'))[0]));
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    await stopped;
    const [error] = (await once(open(), 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
  });
});
