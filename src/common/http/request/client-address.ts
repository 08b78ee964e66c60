import { isIP } from 'node:net';
import type { Request } from 'express';
import { isLoopback } from '../../dns/public-address';

/** `192.0.2.1:1234`, `[2001:db8::1]:1234`: some proxies add the port. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+)):\d{1,5}$/;

/**
 * The client's address, from the trusted proxies' header (`TRUST_PROXY`) or the peer. A forwarded value that is no address is
 * made up by a client: then the peer's counts. Empty once the connection is closed.
 */
export function clientAddressOf({ ip = '', socket }: Pick<Request, 'ip' | 'socket'>): string {
  const [, six, four] = WITH_PORT.exec(ip) ?? [];
  const address = six ?? four ?? ip;
  return isIP(address) === 0 ? (socket.remoteAddress ?? '') : address;
}

const FORWARDING = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'];

/**
 * Whether a client is on this machine, by the peer address of its connection: forwarded requests come from elsewhere. False
 * once the connection is closed.
 */
export function isOnThisMachine({ headers, socket }: Pick<Request, 'headers' | 'socket'>): boolean {
  if (FORWARDING.some((name) => headers[name] !== undefined)) return false;
  return isLoopback(socket.remoteAddress);
}
