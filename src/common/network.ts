import ipaddr from 'ipaddr.js';
import { OperatorError } from './errors/app-error';

/**
 * The address as a URL (WHATWG); undefined when it is none.
 *
 * Not by `URL.canParse`: once the compiler of Node 20 has optimized a call to it, it refuses addresses like
 * `https://bücher.example` (letters of Latin-1).
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Whom to count as one client: an IPv4 address itself; of IPv6 the /64 network, which one client owns as a whole. */
export function clientNetworkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString();
}

/** Around a network that `clientNetworkOf` returns: what one owner may have as a whole, /24 of IPv4 and /48 of IPv6. A text that is neither is returned as it is. */
export function ownedNetworkOf(network: string): string {
  const separator = network.includes('.') ? '.' : ':';
  const parts = network.split(separator);
  return parts.length === 4 ? parts.slice(0, 3).join(separator) : network;
}

export type PortVariable =
  | 'PORT'
  | 'METRICS_PORT'
  | 'INBOUND_SMTP_PORT'
  | 'SUBMISSION_PORT'
  | 'SUBMISSIONS_PORT'
  | 'DNS_PORT';

/** The variable for the address of a listener. */
const hostVariable = (variable: PortVariable): string => (variable === 'METRICS_PORT' ? 'METRICS_HOST' : 'HOST');

const ADVICE: Record<string, (variable: PortVariable, host: string) => string> = {
  EADDRINUSE: (variable) => `is in use by another process: stop that one, or set ${variable} to another port`,
  EACCES: (variable) =>
    `may not be opened by this user: set ${variable} to 1024 or above and redirect, or grant the capability`,
  EADDRNOTAVAIL: (variable, host) =>
    `cannot be opened, since this machine has no address ${host}: see ${hostVariable(variable)}`,
  ENOTFOUND: (variable, host) => `cannot be opened, since ${host} has no address: see ${hostVariable(variable)}`,
};

/**
 * A listener that does not open, in terms of what the operator has set.
 *
 *     await opensPort('METRICS_PORT', { host, port }, listen())
 *
 * @throws Error that names the variable and the remedy; any other error as it is
 */
export async function opensPort<T>(
  variable: PortVariable,
  { host, port }: { readonly host: string; readonly port: number },
  opening: Promise<T>,
): Promise<T> {
  try {
    return await opening;
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    const advice = ADVICE[code];
    if (!advice) throw cause;
    throw new OperatorError(`${variable}: port ${port} on ${host} ${advice(variable, host)} (${code})`, { cause });
  }
}
