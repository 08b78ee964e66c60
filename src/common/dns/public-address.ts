import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Parsed = ipaddr.IPv4 | ipaddr.IPv6;

/** All of the IPv6 space that has been given out for public use (RFC 4291 section 2.4). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** The only NAT64 prefix whose addresses stand for public IPv4 ones (RFC 6052 section 3.1). */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** Public by number, yet the host's own platform service in every Azure network. */
const PLATFORM_SERVICES: ReadonlySet<string> = new Set(['168.63.129.16']);

/** Deprecated (RFC 4291 section 2.5.5.1). */
const IPV4_COMPATIBLE = /^::\d{1,3}\./;

/** True for an address that only this machine can be the peer with, IPv4 within IPv6 included. */
export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

/**
 * True when an address is on the public Internet, by numeric ranges: not private, loopback, link-local, shared,
 * documentation, multicast, reserved or unassigned. IPv4 addresses within IPv6 are checked as what they stand for
 * (`::ffff:0:0/96`, NAT64); 6to4 and Teredo, which lead through others' tunnels, are refused, and so is what is no
 * address. The guard against being used to reach the operator's own network.
 */
export function isPublicAddress(address: string): boolean {
  // Stricter than ipaddr.js, which also takes `127.1` and octal numbers, and reads `::8.8.8.8` as `::ffff:8.8.8.8`.
  if (isIP(address) === 0 || IPV4_COMPATIBLE.test(address)) return false;
  const parsed: Parsed = ipaddr.parse(address);
  return parsed instanceof ipaddr.IPv6 ? isPublicSix(parsed) : isPublicFour(parsed);
}

function isPublicFour(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !PLATFORM_SERVICES.has(address.toString());
}

function isPublicSix(address: ipaddr.IPv6): boolean {
  if (address.isIPv4MappedAddress()) return isPublicFour(address.toIPv4Address());
  if (address.match(NAT64)) return isPublicFour(new ipaddr.IPv4(address.toByteArray().slice(12)));
  return address.match(GLOBAL_UNICAST) && address.range() === 'unicast';
}
