import ipaddr from 'ipaddr.js';

/** Undefined for what is no IP address; an IPv4 address in IPv6 dress becomes IPv4. */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // A link-local address comes with the name of its interface.
  const address = text.replace(/%.*$/, '');
  return ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
}

/** The network of an address, which many people share: /24 of IPv4, /48 of IPv6. Undefined for what is no address. */
export function truncateAddress(text: string): string | undefined {
  const address = parseAddress(text);
  if (!address) return undefined;
  const network =
    address instanceof ipaddr.IPv4
      ? ipaddr.IPv4.networkAddressFromCIDR(`${address.toString()}/24`)
      : ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/48`);
  return network.toString();
}
