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

/**
 * Networks that makers of mail filters publish as theirs: people do not read their mail from there. Others, and what scans
 * out of the public clouds, where people's proxies are too, are known by what they do.
 */
const NETWORKS: readonly string[] = [
  // Barracuda Email Gateway Defense
  '64.235.144.0/20',
  '209.222.80.0/21',
  // Proofpoint
  '67.231.144.0/20',
  '91.209.104.0/24',
  '208.84.64.0/22',
];

const RANGES = NETWORKS.map((network) => ipaddr.IPv4.parseCIDR(network));

export function isScannerNetwork(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address instanceof ipaddr.IPv4 && RANGES.some((range) => address.match(range));
}
