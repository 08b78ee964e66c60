import { isIP } from 'node:net';
import { getDomain } from 'tldts';
import {
  type DnsAnswer,
  type DnsResolver,
  type IpAddress,
  isHostName,
  type LookupOptions,
  type MxRecord,
} from '../../common/dns/dns-resolver';
import { isPublicAddress } from '../../common/dns/public-address';
import { profileOf } from '../ports/provider-profiles';
import {
  dnsFailure,
  type HostFilter,
  LEADS_BACK,
  MAXIMUM_HOSTS,
  MORE_EXCHANGERS,
  NO_ADDRESS,
  NO_HOST_NAME,
  NO_IPV6_HERE,
  NO_SUCH_DOMAIN,
  NO_USABLE_ADDRESS,
  NULL_MX,
  type RouteHost,
  type Unroutable,
} from './router';

/** A domain may list more; a look-up for one mail asks for no more of them. That these have no address shows nothing about the others. */
const MAXIMUM_CANDIDATES = 50;

/** Hosts to look up, in order of preference, or the reason why there are none. */
export type Candidates = Chosen | Unroutable;

export interface Chosen {
  readonly kind: 'candidates';
  readonly records: readonly MxRecord[];
  /** The domain has further ones, which are not looked up. */
  readonly isCut?: boolean;
}

/** What to choose by. */
export interface Choice {
  /**
   * Names of this service, lower case. A record that leads here is dropped with all that are not preferred to it, as mail would
   * turn in circles.
   */
  readonly ownHostNames: ReadonlySet<string>;
  /** Shuffles hosts of equal preference. */
  readonly random: () => number;
  readonly only?: HostFilter | undefined;
}

/**
 * Chooses among a domain's mail exchangers (RFC 5321 section 5.1).
 */
export function chooseCandidates(domain: string, answer: DnsAnswer<MxRecord>, choice: Choice): Candidates {
  switch (answer.kind) {
    case 'no-domain':
      return NO_SUCH_DOMAIN;
    case 'temporary':
      return dnsFailure(answer.reason);
    case 'no-data':
      // The implicit MX: the domain itself.
      return chooseRecords([{ preference: 0, exchange: domain }], choice);
    case 'found':
      if (answer.records.every(({ exchange }) => exchange === '')) return NULL_MX;
      return chooseRecords(answer.records, choice);
  }
}

/**
 * The first host by preference and name: domains with the same hosts have it in common. `@` and the domain where its hosts are of
 * several operators: anyone can name a large receiver's host beside one of their own, whose replies would count against the receiver.
 * Without the `@` it would also be the group of all domains that give that domain's name as their exchanger.
 */
export function groupOf(domain: string, answer: DnsAnswer<MxRecord>): string {
  if (answer.kind !== 'found') return domain;
  const [first, ...others] = answer.records
    .filter(namesHost)
    .sort((a, b) => a.preference - b.preference || (a.exchange < b.exchange ? -1 : 1))
    .map(({ exchange }) => exchange);
  if (first === undefined) return domain;
  const operator = operatorOf(first);
  return others.every((host) => operatorOf(host) === operator) ? first : `@${domain}`;
}

/**
 * Who runs a host: a receiver that has several names, else the registered domain that the host's name is part of. A name in which
 * a company's customers get names of their own (`compute-1.amazonaws.com`) counts as a suffix.
 */
function operatorOf(host: string): string {
  return profileOf(host)?.id ?? getDomain(host, { allowPrivateDomains: true }) ?? host;
}

function chooseRecords(records: readonly MxRecord[], { ownHostNames, random, only }: Choice): Candidates {
  const ownPreference = records
    .filter(({ exchange }) => ownHostNames.has(exchange))
    .reduce((least, { preference }) => Math.min(least, preference), Infinity);
  const preferred = records.filter(({ preference }) => preference < ownPreference);
  if (preferred.length === 0) return LEADS_BACK;
  const allowed = only ? preferred.filter(({ exchange }) => only.allows(exchange)) : preferred;
  const usable = shuffleWithin(withoutRepeats(allowed.filter(namesHost)), random);
  if (usable.length === 0) return NO_HOST_NAME;
  const isCut = usable.length > MAXIMUM_CANDIDATES;
  return { kind: 'candidates', records: usable.slice(0, MAXIMUM_CANDIDATES), ...(isCut && { isCut }) };
}

/** An exchange must be a name: an address literal there (RFC 5321 section 5.1) would also bypass the address checks. */
function namesHost({ exchange }: MxRecord): boolean {
  return isHostName(exchange) && isIP(exchange) === 0;
}

function withoutRepeats(records: readonly MxRecord[]): MxRecord[] {
  const best = new Map<string, MxRecord>();
  for (const record of records) {
    if (record.preference < (best.get(record.exchange)?.preference ?? Infinity)) best.set(record.exchange, record);
  }
  return [...best.values()];
}

/** By preference; hosts of equal preference in random order, which spreads the load (RFC 5321 section 5.1). */
export function shuffleWithin<Item extends { readonly preference: number }>(
  items: readonly Item[],
  random: () => number,
): Item[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.item.preference - b.item.preference || a.rank - b.rank)
    .map(({ item }) => item);
}

export interface AddressPolicy {
  /** The family of addresses, unless a receiver's profile overrides it. */
  readonly preferIpv6: boolean;
  /** Whether this machine has an address to reach others by IPv6 from. */
  readonly hasIpv6: () => boolean;
  /** Loopback, private and other addresses that are not public: for tests and closed networks. */
  readonly allowPrivateDestinations: boolean;
}

/** The hosts found, with the shortest time to live among their addresses. */
export interface FoundHosts {
  readonly kind: 'found';
  readonly hosts: readonly RouteHost[];
  readonly ttlSeconds: number;
  /** Of others, or of one family of their addresses, nothing is known now. */
  readonly isPartial: boolean;
}

const MAXIMUM_ADDRESSES = 10;

interface LookedUp {
  readonly record: MxRecord;
  readonly answer: DnsAnswer<IpAddress>;
  readonly addresses: readonly string[];
  /** Addresses that it has, and this machine cannot reach. */
  readonly isIpv6Only: boolean;
}

/**
 * Looks the candidates up, five at a time in order of preference, until five hosts have addresses. At the time limit, the hosts
 * found so far are used.
 */
export async function findHosts(
  resolver: DnsResolver,
  { records, isCut = false }: Omit<Chosen, 'kind'>,
  policy: AddressPolicy,
  asked: LookupOptions & { readonly signal: AbortSignal },
): Promise<FoundHosts | Unroutable> {
  const seen: LookedUp[] = [];
  for (let start = 0; start < records.length && !asked.signal.aborted; start += MAXIMUM_HOSTS) {
    const group = records.slice(start, start + MAXIMUM_HOSTS);
    seen.push(...(await Promise.all(group.map((record) => lookUp(resolver, record, policy, asked)))));
    if (seen.filter(({ addresses }) => addresses.length > 0).length >= MAXIMUM_HOSTS) break;
  }
  const usable = seen.filter(({ addresses }) => addresses.length > 0).slice(0, MAXIMUM_HOSTS);
  const isPartial = asked.signal.aborted || seen.some(({ answer }) => isOpen(answer));
  if (usable.length > 0) return { ...found(usable), isPartial };
  const why = whyNone(seen, isPartial);
  return isCut && why.permanent ? MORE_EXCHANGERS : why;
}

function isOpen(answer: DnsAnswer<IpAddress>): boolean {
  return answer.kind === 'temporary' || (answer.kind === 'found' && answer.failedFamily !== undefined);
}

async function lookUp(
  resolver: DnsResolver,
  record: MxRecord,
  policy: AddressPolicy,
  asked: LookupOptions,
): Promise<LookedUp> {
  const answer = await resolver.resolveAddresses(record.exchange, asked);
  const all = answer.kind === 'found' ? answer.records : [];
  const allowed = all.filter(({ address }) => policy.allowPrivateDestinations || isPublicAddress(address));
  const four = allowed.filter(({ family }) => family === 4);
  const six = policy.hasIpv6() ? allowed.filter(({ family }) => family === 6) : [];
  const preferred = profileOf(record.exchange)?.prefersFamily ?? (policy.preferIpv6 ? 6 : 4);
  const ordered = preferred === 6 ? [...six, ...four] : [...four, ...six];
  const isIpv6Only = ordered.length === 0 && allowed.length > 0;
  return { record, answer, addresses: ordered.map(({ address }) => address), isIpv6Only };
}

function found(usable: readonly LookedUp[]): Omit<FoundHosts, 'isPartial'> {
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

/**
 * What was not answered leaves the result open: that host may be the one with an address. Only a definite answer of all makes
 * it permanent (RFC 5321 section 5.1).
 */
function whyNone(seen: readonly LookedUp[], isPartial: boolean): Unroutable {
  const answers = seen.map(({ answer }) => answer);
  const temporary = answers.find((answer) => answer.kind === 'temporary');
  if (isPartial || answers.length === 0) return dnsFailure(temporary?.reason ?? 'ETIMEOUT');
  if (seen.some(({ isIpv6Only }) => isIpv6Only)) return NO_IPV6_HERE;
  if (answers.some((answer) => answer.kind === 'found')) return NO_USABLE_ADDRESS;
  return NO_ADDRESS;
}
