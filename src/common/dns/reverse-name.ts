import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Where the names of an address are kept (RFC 1035 section 3.5, RFC 3596 section 2.5); undefined for no address. */
export function reverseName(address: string): string | undefined {
  if (isIP(address) === 0) return undefined;
  const parsed = ipaddr.parse(address);
  const bytes = parsed.toByteArray();
  if (parsed.kind() === 'ipv4') return `${bytes.reverse().join('.')}.in-addr.arpa`;
  const nibbles = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${[...nibbles].reverse().join('.')}.ip6.arpa`;
}
