import { createServer, type AddressInfo, type Server } from 'node:net';
import { Pool } from 'pg';
import { dataSourceOptions } from '../../../src/database/pool/data-source';

/** A message of the protocol (PostgreSQL documentation, "Message Formats"). */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

const AUTHENTICATED = message('R', Buffer.alloc(4));
const READY = message('Z', Buffer.from('I'));
const SHUTDOWN = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'));

describe('a connection that a stopping server ends as soon as it is open', () => {
  let server: Server;
  let pool: Pool;
  beforeAll(async () => {
    // In one piece: the client reads of the end before the caller has the connection.
    const bytes = Buffer.concat([AUTHENTICATED, READY, SHUTDOWN]);
    server = createServer((socket) => socket.once('data', () => socket.end(bytes)).on('error', () => undefined));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { extra, poolErrorHandler } = dataSourceOptions(`postgres://u@127.0.0.1/db`);
    pool = new Pool({ ...(extra as object), host: '127.0.0.1', port, user: 'u' });
    pool.on('error', poolErrorHandler as (error: Error) => void);
  });
  afterAll(async () => {
    await pool.end();
    server.close();
  });

  it('fails the statement, and not the process', async () => {
    const connection = await pool.connect();
    await expect(connection.query('select 1')).rejects.toThrow();
    connection.release(true);
  });
});
