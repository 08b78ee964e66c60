import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { TEST_CERTIFICATE } from '../../../test/doubles/tls-certificate';
import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { DriverClient } from './driver-client';

/** A message of the protocol (Frontend/Backend Protocol, message formats). */
function message(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

const READY = message('Z', Buffer.from('I'));
const AUTHENTICATED = Buffer.concat([message('R', Buffer.alloc(4)), READY]);
/** SSLRequest. */
const WANTS_TLS = Buffer.from('0000000804d2162f', 'hex');
const QUERY = 'Q'.charCodeAt(0);
const [ROWS, ROW_BYTES] = [24, 64 * 1024];

/** One column of type text, in rows that are as long as what is read at once. */
function result(): Buffer {
  const column = Buffer.concat([Buffer.from('text\0'), Buffer.alloc(18)]);
  column.writeInt32BE(25, 11);
  const value = Buffer.alloc(4 + ROW_BYTES, 'x');
  value.writeInt32BE(ROW_BYTES);
  const one = Buffer.from([0, 1]);
  const row = message('D', Buffer.concat([one, value]));
  const rows = Array<Buffer>(ROWS).fill(row);
  return Buffer.concat([
    message('T', Buffer.concat([one, column])),
    ...rows,
    message('C', Buffer.from('SELECT\0')),
    READY,
  ]);
}

describe('rows of several connections', () => {
  let server: Server;
  const sockets = new Set<Socket>();

  beforeEach(async () => {
    const serve = (socket: Socket): void => {
      socket.once('data', (bytes) => {
        if (bytes.equals(WANTS_TLS)) return encrypt(socket);
        socket.write(AUTHENTICATED);
        socket.on('data', (query) => query[0] === QUERY && socket.write(result()));
      });
    };
    const encrypt = (socket: Socket): void => {
      socket.write('S');
      serve(new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(TEST_CERTIFICATE) }));
    };
    server = createServer((socket) => {
      sockets.add(socket);
      serve(socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    jest.restoreAllMocks();
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it.each([
    ['plain', {}],
    ['encrypted', { ssl: { rejectUnauthorized: false } }],
  ])('are converted in turns of the event loop, when each takes long: %s', async (_how, ssl) => {
    const { port } = server.address() as AddressInfo;
    const options = { host: '127.0.0.1', port, user: 'waybill', ...ssl };
    const clients = Array.from({ length: 4 }, () => new DriverClient(options));
    await Promise.all(clients.map((client) => client.connect()));
    const now = performance.now.bind(performance);
    let passedMs = 0;
    // Whatever is looked at the time for, it has taken 10 ms.
    jest.spyOn(performance, 'now').mockImplementation(() => now() + (passedMs += 10));
    let found: { rows: { text: string }[] }[] = [];
    const turns = await loopTurnsOf(async () => {
      found = await Promise.all(clients.map((client) => client.query<{ text: string }>('select')));
    });
    expect(found.map(({ rows }) => rows.map(({ text }) => text.length))).toEqual(
      Array<number[]>(4).fill(Array<number>(ROWS).fill(ROW_BYTES)),
    );
    // A piece of one connection in each.
    expect(turns).toBeGreaterThan(2 * ROWS);
    await Promise.all(clients.map((client) => client.leave()));
  });
});
