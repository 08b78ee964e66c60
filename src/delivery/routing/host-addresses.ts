import type { DnsAnswer, DnsResolver, IpAddress, MxRecord } from '../../common/dns/dns-resolver';
import { isPublicAddress } from '../../common/dns/public-address';
import { profileOf } from '../ports/provider-profiles';
import { dnsTrouble, NO_ADDRESS, NO_IPV6_HERE, NO_USABLE_ADDRESS, type RouteHost, type Unroutable } from './router';

export interface AddressPolicy {
  /** Of the family of addresses, save where a receiver's profile says otherwise. */
  readonly preferIpv6: boolean;
  /** Whether this machine has an address to reach others by IPv6 from. */
  readonly hasIpv6: () => boolean;
  /** Loopback, private and other addresses that are not public: for tests and closed networks. */
  readonly allowPrivateDestinations: boolean;
}

/** What the candidates came to, with the shortest life among their addresses. */
export interface FoundHosts {
  readonly kind: 'found';
  readonly hosts: readonly RouteHost[];
  readonly ttlSeconds: number;
}

const MAXIMUM_HOSTS = 5;
const MAXIMUM_ADDRESSES = 10;

interface LookedUp {
  readonly record: MxRecord;
  readonly answer: DnsAnswer<IpAddress>;
  readonly addresses: readonly string[];
  /** Addresses that it has, and this machine cannot reach. */
  readonly isIpv6Only: boolean;
}

/**
 * Looks the candidates up, five at a time in order of preference, until five hosts have addresses to go to. When the
 * time is up, what has been found is enough.
 */
export async function findHosts(
  resolver: DnsResolver,
  candidates: readonly MxRecord[],
  policy: AddressPolicy,
  signal: AbortSignal,
): Promise<FoundHosts | Unroutable> {
  const seen: LookedUp[] = [];
  for (let start = 0; start < candidates.length && !signal.aborted; start += MAXIMUM_HOSTS) {
    const group = candidates.slice(start, start + MAXIMUM_HOSTS);
    seen.push(...(await Promise.all(group.map((record) => lookUp(resolver, record, policy, signal)))));
    if (seen.filter(({ addresses }) => addresses.length > 0).length >= MAXIMUM_HOSTS) break;
  }
  const usable = seen.filter(({ addresses }) => addresses.length > 0).slice(0, MAXIMUM_HOSTS);
  return usable.length > 0 ? found(usable) : whyNone(seen);
}

async function lookUp(
  resolver: DnsResolver,
  record: MxRecord,
  policy: AddressPolicy,
  signal: AbortSignal,
): Promise<LookedUp> {
  const answer = await resolver.resolveAddresses(record.exchange, { signal });
  const all = answer.kind === 'found' ? answer.records : [];
  const allowed = all.filter(({ address }) => policy.allowPrivateDestinations || isPublicAddress(address));
  const four = allowed.filter(({ family }) => family === 4);
  const six = policy.hasIpv6() ? allowed.filter(({ family }) => family === 6) : [];
  const preferred = profileOf(record.exchange)?.prefersFamily ?? (policy.preferIpv6 ? 6 : 4);
  const ordered = preferred === 6 ? [...six, ...four] : [...four, ...six];
  const isIpv6Only = ordered.length === 0 && allowed.length > 0;
  return { record, answer, addresses: ordered.map(({ address }) => address), isIpv6Only };
}

function found(usable: readonly LookedUp[]): FoundHosts {
  const shares = shareOut(usable.map(({ addresses }) => addresses.length));
  const hosts = usable.map(({ record, addresses }, index) => ({
    hostName: record.exchange,
    addresses: addresses.slice(0, shares[index]),
    preference: record.preference,
  }));
  const lives = usable.map(({ answer }) => (answer.kind === 'found' ? (answer.ttlSeconds ?? Infinity) : Infinity));
  return { kind: 'found', hosts, ttlSeconds: Math.min(...lives) };
}

/** Ten addresses in all, one for each host in turn, so that the first host's many leave room for the next host. */
function shareOut(counts: readonly number[]): number[] {
  const shares = counts.map(() => 0);
  for (let left = MAXIMUM_ADDRESSES; left > 0;) {
    const open = counts.map((_count, index) => index).filter((index) => (shares[index] ?? 0) < (counts[index] ?? 0));
    if (open.length === 0) break;
    for (const index of open.slice(0, left)) shares[index] = (shares[index] ?? 0) + 1;
    left -= Math.min(left, open.length);
  }
  return shares;
}

/** One look-up that failed for the moment leaves all open: that host may be the one with an address. */
function whyNone(seen: readonly LookedUp[]): Unroutable {
  const answers = seen.map(({ answer }) => answer);
  const temporary = answers.find((answer) => answer.kind === 'temporary');
  if (temporary !== undefined || answers.length === 0) return dnsTrouble(temporary?.reason ?? 'ETIMEOUT');
  if (seen.some(({ isIpv6Only }) => isIpv6Only)) return NO_IPV6_HERE;
  if (answers.some((answer) => answer.kind === 'found')) return NO_USABLE_ADDRESS;
  return NO_ADDRESS;
}
