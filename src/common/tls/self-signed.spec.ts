import { X509Certificate } from 'node:crypto';
import { connect, createServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { selfSigned } from './self-signed';

describe('selfSigned', () => {
  const now = new Date();

  it('is a certificate of this machine for some time, signed by itself', () => {
    const { cert } = selfSigned(now);
    const read = new X509Certificate(cert);
    expect(read.checkHost('localhost')).toBe('localhost');
    expect(read.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(read.checkIP('::1')).toBe('::1');
    expect(read.verify(read.publicKey)).toBe(true);
    expect(Date.parse(read.validFrom)).toBeLessThanOrEqual(now.getTime());
    expect(Date.parse(read.validTo)).toBeGreaterThan(now.getTime());
    expect(selfSigned(now).cert).not.toBe(cert);
  });

  it('is accepted by a client that trusts it', async () => {
    const { key, cert } = selfSigned(now);
    const server = createServer({ key, cert }, (socket) => socket.end('hello')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const heard = await new Promise<string>((resolve, reject) => {
      const socket = connect({ port, host: 'localhost', ca: cert, servername: 'localhost' });
      socket.once('data', (data) => resolve(data.toString())).once('error', reject);
    });
    server.close();
    expect(heard).toBe('hello');
  });
});
