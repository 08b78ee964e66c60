import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, isIPv6, type Server, type Socket } from 'node:net';
import { WorkTurns } from '../../common/async/fair-turns';
import { clientNetworkOf } from '../../common/network';
import type { DkimZoneLimits } from './dkim-zone-limits';

/** UDP and TCP on one port. */
export interface DnsSockets {
  readonly port: number;
  readonly datagrams: DatagramSocket;
  readonly streams: Server;
}

/** A free port of one protocol may be taken for the other. */
const ATTEMPTS = 10;

/** @param port 0 takes any that is free for both. @throws when it is taken */
export async function bindBoth(host: string, port: number): Promise<DnsSockets> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await bindOnce(host, port);
    } catch (error) {
      if (port !== 0 || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Closes both listeners; resolves when they are closed. */
export async function closeBoth({ datagrams, streams }: DnsSockets): Promise<void> {
  await Promise.all([
    new Promise<void>((resolve) => datagrams.close(() => resolve())),
    new Promise<void>((resolve) => streams.close(() => resolve())),
  ]);
}

async function bindOnce(host: string, wanted: number): Promise<DnsSockets> {
  const streams = createServer({ allowHalfOpen: true }).listen(wanted, host);
  await once(streams, 'listening');
  // Of the address, not of the configured name: a name may have several.
  const { port, address } = streams.address() as AddressInfo;
  const datagrams = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  try {
    datagrams.bind(port, address);
    await once(datagrams, 'listening');
    return { port, datagrams, streams };
  } catch (error) {
    await closeBoth({ port, datagrams, streams });
    throw error;
  }
}

const LENGTH_BYTES = 2;

/**
 * Serves one TCP connection (RFC 7766): any number of queries, each with its length in front, one after the other. While
 * a reply is being made or the client does not take it, nothing is read, so a connection holds one query and one reply.
 */
export async function serveStream(
  socket: Socket,
  answer: (message: Buffer) => Promise<Buffer | undefined>,
  { maxQueryBytes, idleMs, connectionMs }: DkimZoneLimits,
): Promise<void> {
  const turns = new WorkTurns(clientNetworkOf(socket.remoteAddress ?? ''));
  const closed = new AbortController();
  const lifetime = setTimeout(() => socket.destroy(), connectionMs);
  socket.setTimeout(idleMs, () => socket.destroy());
  // A connection that breaks is the client's affair.
  socket.on('error', () => undefined);
  socket.once('close', () => closed.abort());
  try {
    for await (const message of messagesOf(socket, maxQueryBytes)) {
      await turns.next();
      const reply = await answer(message);
      if (!reply || socket.write(frame(reply))) continue;
      await once(socket, 'drain', { signal: closed.signal });
    }
    socket.end();
  } catch {
    socket.destroy();
  } finally {
    clearTimeout(lifetime);
  }
}

/** @throws RangeError for a length that no query has */
async function* messagesOf(socket: Socket, maxQueryBytes: number): AsyncGenerator<Buffer> {
  let waiting: Buffer = Buffer.alloc(0);
  // Destroyed at its end, it would lose the replies to a client that has only stopped asking.
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
    while (waiting.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + waiting.readUInt16BE(0);
      if (end - LENGTH_BYTES > maxQueryBytes) throw new RangeError('too long for a query');
      if (waiting.length < end) break;
      yield waiting.subarray(LENGTH_BYTES, end);
      waiting = waiting.subarray(end);
    }
  }
}

function frame(reply: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(LENGTH_BYTES + reply.length);
  framed.writeUInt16BE(reply.length, 0);
  reply.copy(framed, LENGTH_BYTES);
  return framed;
}
