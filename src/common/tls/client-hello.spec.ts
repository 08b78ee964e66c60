import { once } from 'node:events';
import { type ConnectionOptions } from 'node:tls';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { clientHello } from '../../../test/setup/client-hello';
import { waitFor } from '../../../test/setup/wait-for';
import { SharedTurns } from '../async/shared-turns';
import { socketInTurns } from '../async/socket-turns';
import { ClientHelloReader, whenClientHello } from './client-hello';

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

const reading = (bytes: Buffer) => new ClientHelloReader().read(bytes);

describe('ClientHelloReader', () => {
  it('has all with the last byte of a ClientHello, however it is divided into records', async () => {
    const hello = await clientHello();
    for (const whole of [hello, fragmented(hello, 1), fragmented(hello, 3), fragmented(hello, 100)]) {
      const firstOf = Array.from({ length: whole.length + 1 }, (_, end) => end).find(
        (end) => reading(whole.subarray(0, end)) !== 'more',
      );
      expect(firstOf).toBe(whole.length);
      expect(reading(Buffer.concat([whole, Buffer.from('more')]))).toBe('whole');
      const inBytes = new ClientHelloReader();
      const readings = [...whole].map((byte) => inBytes.read(Buffer.from([byte])));
      expect(readings.indexOf('whole')).toBe(whole.length - 1);
      expect(readings.filter((one) => one !== 'more')).toHaveLength(1);
    }
  });

  it('refuses other bytes, other records behind the first, too many bytes', () => {
    expect(reading(Buffer.from('EHLO'))).toBe('other');
    expect(reading(Buffer.from([22, 3, 1, 0, 1, 1, 23, 3, 1, 0, 1]))).toBe('other');
    expect(reading(Buffer.alloc(70_000, 22))).toBe('other');
    expect(reading(Buffer.alloc(0))).toBe('more');
  });

  it('copies each byte a few times, in however many records and pieces they come', () => {
    const largest = Buffer.alloc(10_000);
    largest.set([1, 0, 39, 12]);
    const bytes = fragmented(Buffer.concat([Buffer.alloc(5), largest]), 1);
    const [concat, allocate] = [jest.spyOn(Buffer, 'concat'), jest.spyOn(Buffer, 'allocUnsafeSlow')];
    const reader = new ClientHelloReader();
    for (let at = 0; at < bytes.length; at += 100) reader.read(bytes.subarray(at, at + 100));
    expect(concat).not.toHaveBeenCalled();
    const allocated = allocate.mock.calls.reduce((sum, [size]) => sum + size, 0);
    expect(allocated).toBeLessThan(4 * largest.length);
  });

  it('keeps nothing of the pieces themselves, of which one of a byte takes hundreds', async () => {
    const reader = new ClientHelloReader();
    for (const byte of fragmented(await clientHello({ ecdhCurve: 'X25519' }), 3)) {
      const piece = Buffer.of(byte);
      reader.read(piece);
      piece.fill(0);
    }
    expect(reader.needsRetry([0x1d])).toBe(false);
  });

  it('needs a retry when no key is of these groups, where TLS 1.3 is offered', async () => {
    const retries = async (options: ConnectionOptions, groups: readonly number[]): Promise<boolean> => {
      const reader = new ClientHelloReader();
      expect(reader.read(await clientHello(options))).toBe('whole');
      return reader.needsRetry(groups);
    };
    const [x25519, p256, p384] = [0x1d, 0x17, 0x18];
    expect(await retries({ ecdhCurve: 'X25519' }, [x25519, p256])).toBe(false);
    expect(await retries({ ecdhCurve: 'P-384:X25519' }, [p384])).toBe(false);
    expect(await retries({ ecdhCurve: 'P-384:X25519' }, [x25519])).toBe(true);
    expect(await retries({ ecdhCurve: 'P-384', maxVersion: 'TLSv1.2' }, [x25519])).toBe(false);
    const broken = new ClientHelloReader();
    expect(broken.read(Buffer.from([22, 3, 1, 0, 5, 1, 0, 0, 1, 3]))).toBe('whole');
    expect(broken.needsRetry([x25519])).toBe(true);
  });
});

describe('whenClientHello', () => {
  let server: Server;
  let begun: Buffer[];
  let waiting: (() => boolean)[];
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
    // It keeps nothing of the pieces themselves.
    const wipe = (piece: Buffer) => piece.fill(0);
    accepted[0]?.on('data', wipe);
    client.write(hello.subarray(0, 10));
    await waitFor(() => accepted[0]?.bytesRead === 10, { what: 'the first bytes' });
    expect(waiting).toHaveLength(0);
    client.write(hello.subarray(10));
    await waitFor(() => waiting.length === 1, { what: 'all bytes' });
    client.write('more');
    await waitFor(() => accepted[0]?.bytesRead === hello.length + 4, { what: 'those behind it' });
    expect(begun).toHaveLength(0);
    accepted[0]?.off('data', wipe);
    waiting[0]?.();
    expect(begun).toEqual([Buffer.concat([hello, Buffer.from('more')])]);
    expect(accepted[0]?.isPaused()).toBe(true);
  });

  it('does not begin while something that has come waits for its turn', async () => {
    const held: (() => void)[] = [];
    class HeldTurns extends SharedTurns {
      isOpen = true;
      override isFree = () => this.isOpen;
      override run = (_holder: string, work: () => void) => void (this.isOpen ? work() : held.push(work));
    }
    const turns = new HeldTurns();
    socketInTurns(accepted[0] as Socket, 'a', turns);
    client.write(await clientHello());
    await waitFor(() => waiting.length === 1, { what: 'all bytes' });
    const [begin] = waiting as [() => boolean];
    turns.isOpen = false;
    client.end('more');
    await waitFor(() => held.length > 0, { what: 'more' });
    expect(begin()).toBe(false);
    turns.isOpen = true;
    for (const work of held) work();
    await waitFor(() => accepted[0]?.closed === true, { what: 'the end' });
    begin();
    expect(begun).toHaveLength(0);
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
