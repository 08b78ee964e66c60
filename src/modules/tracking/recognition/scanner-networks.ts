import ipaddr from 'ipaddr.js';

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
