import ipaddr from 'ipaddr.js';

/**
 * Networks registered to makers of mail filters: people do not read their mail from there. What scans out of the public
 * clouds is not in the list, as people's proxies are there too; it is known by what it does.
 */
const NETWORKS: readonly string[] = [
  // Barracuda Email Gateway Defense
  '64.235.144.0/20',
  '209.222.80.0/21',
  // Proofpoint
  '67.231.144.0/20',
  '148.163.128.0/19',
  '205.220.160.0/19',
  // Mimecast
  '91.220.42.0/24',
  '205.139.110.0/23',
  '207.211.30.0/23',
  // Symantec Email Security (MessageLabs)
  '67.219.240.0/20',
  '85.158.136.0/21',
  '193.109.254.0/23',
  '216.82.240.0/20',
];

const RANGES = NETWORKS.map((network) => ipaddr.IPv4.parseCIDR(network));

export function isScannerNetwork(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address instanceof ipaddr.IPv4 && RANGES.some((range) => address.match(range));
}
