import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { stopListening } from './stop-listening';

describe('stopListening', () => {
  let server: Server;
  const sockets: Socket[] = [];
  let port: number;

  beforeEach(async () => {
    server = createServer((_request, response) => response.setHeader('connection', 'close').end('served'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(() => {
    sockets.splice(0).forEach((socket) => socket.destroy());
    server.close();
  });

  const open = (): Socket => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    sockets.push(socket);
    return socket;
  };

  it.each([
    ['', 0],
    [', on a machine that stands still meanwhile', 10_000],
  ])('serves connections that the system has made already, and takes no others%s', async (_where, haltMs) => {
    let readings = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => (readings += 1) * haltMs);
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
