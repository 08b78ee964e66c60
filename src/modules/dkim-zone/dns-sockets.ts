import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, isIPv6, type Server } from 'node:net';

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

export async function closeBoth({ datagrams, streams }: DnsSockets): Promise<void> {
  await Promise.all([
    new Promise<void>((resolve) => datagrams.close(() => resolve())),
    new Promise<void>((resolve) => streams.close(() => resolve())),
  ]);
}

async function bindOnce(host: string, wanted: number): Promise<DnsSockets> {
  const streams = createServer({ allowHalfOpen: true }).listen(wanted, host);
  await once(streams, 'listening');
  // Of the address, not of what was asked for: a name may have several.
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
