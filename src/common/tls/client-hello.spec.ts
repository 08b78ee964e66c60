import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { clientHello } from '../../../test/setup/client-hello';
import { waitFor } from '../../../test/setup/wait-for';
import { holdsClientHello, whenClientHello } from './client-hello';

/** The same message in records of few bytes. */
function fragmented(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(records);
}

describe('holdsClientHello', () => {
  it('is false for every beginning of a ClientHello, however it is divided into records', async () => {
    const hello = await clientHello();
    for (const whole of [hello, fragmented(hello, 1), fragmented(hello, 3), fragmented(hello, 100)]) {
      const firstOf = Array.from({ length: whole.length + 1 }, (_, end) => end).find((end) =>
        holdsClientHello(whole.subarray(0, end)),
      );
      expect(firstOf).toBe(whole.length);
      expect(holdsClientHello(Buffer.concat([whole, Buffer.from('more')]))).toBe(true);
    }
  });

  it('is true for what TLS refuses: other bytes, other records behind the first, too many bytes', () => {
    expect(holdsClientHello(Buffer.from('EHLO'))).toBe(true);
    expect(holdsClientHello(Buffer.from([22, 3, 1, 0, 1, 1, 23, 3, 1, 0, 1]))).toBe(true);
    expect(holdsClientHello(Buffer.alloc(70_000, 22))).toBe(true);
    expect(holdsClientHello(Buffer.alloc(0))).toBe(false);
  });
});

describe('whenClientHello', () => {
  let server: Server;
  let begun: Buffer[];
  let waiting: (() => void)[];
  let accepted: Socket[];
  let client: Socket;
  beforeEach(async () => {
    [begun, waiting, accepted] = [[], [], []];
    server = createServer((socket) => {
      accepted.push(socket);
      whenClientHello(
        socket,
        (work) => waiting.push(work),
        () => begun.push(socket.read() as Buffer),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined);
    await waitFor(() => accepted.length === 1, { what: 'the connection' });
  });
  afterEach(() => {
    client.destroy();
    accepted[0]?.destroy();
    server.close();
  });

  it('begins in its turn, with all bytes that have come still to be read', async () => {
    const hello = await clientHello();
    client.write(hello.subarray(0, 10));
    await waitFor(() => accepted[0]?.bytesRead === 10, { what: 'the first bytes' });
    expect(waiting).toHaveLength(0);
    client.write(hello.subarray(10));
    await waitFor(() => waiting.length === 1, { what: 'all bytes' });
    client.write('more');
    await waitFor(() => accepted[0]?.bytesRead === hello.length + 4, { what: 'those behind it' });
    expect(begun).toHaveLength(0);
    waiting[0]?.();
    expect(begun).toEqual([Buffer.concat([hello, Buffer.from('more')])]);
    expect(accepted[0]?.isPaused()).toBe(true);
  });

  it('never begins on a connection that its client has ended meanwhile', async () => {
    client.end(await clientHello());
    await waitFor(() => waiting.length === 1 && accepted[0]?.closed === true, { what: 'the end' });
    waiting[0]?.();
    expect(begun).toHaveLength(0);
  });

  it('closes a connection that ends before, and one that sends on and on while it waits', async () => {
    client.write(await clientHello());
    await waitFor(() => waiting.length === 1, { what: 'the first bytes' });
    client.write(Buffer.alloc(200_000));
    await waitFor(() => accepted[0]?.closed === true, { what: 'the close' });
    waiting[0]?.();
    expect(begun).toHaveLength(0);
  });
});
