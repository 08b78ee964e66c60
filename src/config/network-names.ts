import { isIP, isIPv4, isIPv6 } from 'node:net';
import { HOST_NAME } from './environment';

/** What a resolver can be pointed at: an address with or without a port. A name would itself have to be looked up. */
export function isDnsServer(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([\d.]+)):(\d{1,5})$/.exec(text) ?? [];
  return (isIPv6(six ?? '') || isIPv4(four ?? '')) && Number(port) > 0 && Number(port) <= 65_535;
}

/** What a listener can be bound to. A name that ends in a number is a mistyped address (RFC 1123 section 2.1). */
export function isAddressOrName(text: string): boolean {
  return isIP(text) !== 0 || (HOST_NAME.test(text) && !/(^|\.)\d+$/.test(text));
}
