import { Duplex } from 'node:stream';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { waitFor } from './wait-for';

/** What a client of Node sends first. */
export async function clientHello(options: ConnectionOptions = {}): Promise<Buffer> {
  const written: Buffer[] = [];
  const below = new Duplex({
    read: () => undefined,
    write(bytes: Buffer, _encoding, done) {
      written.push(bytes);
      done();
    },
  });
  const client = connectTls({ ...options, socket: below });
  client.on('error', () => undefined);
  await waitFor(() => written.length > 0, { what: 'a ClientHello' });
  client.destroy();
  return Buffer.concat(written);
}
