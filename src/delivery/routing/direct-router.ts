import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { SingleFlight } from '../../common/async/promises';
import { atMost } from '../../common/bounded-cache';
import { MINUTE, SECOND, type Clock } from '../../common/clock';
import { type DnsAnswer, type DnsResolver, isHostName, type MxRecord } from '../../common/dns/dns-resolver';
import {
  type Candidates,
  chooseCandidates,
  findHosts,
  type FoundHosts,
  groupOf,
  shuffleWithin,
} from './mail-exchangers';
import {
  type HostFilter,
  LEADS_BACK,
  NOT_A_DOMAIN,
  OWN_DOMAIN_UNKNOWN,
  type Route,
  type RouteOptions,
  Router,
  type Unroutable,
} from './router';

export interface DirectRouterOptions {
  /** Remote port; 25 save in tests. */
  readonly port?: number;
  /** Mail host names of this service, for loop detection. */
  readonly ownHostNames?: readonly string[];
  /** Whether this service takes the mail of a host as its last server. @throws UnavailableError */
  readonly receives?: (host: string) => Promise<boolean>;
  readonly allowPrivateDestinations?: boolean;
  readonly preferIpv6?: boolean;
  /** Whether this machine has an address to reach others by IPv6 from. */
  readonly hasIpv6?: () => boolean;
  /** Time limit of all look-ups for one destination. */
  readonly totalTimeoutMs?: number;
  /** Destinations in the cache. */
  readonly maximumCached?: number;
  readonly random?: () => number;
}

const DEFAULTS: Required<DirectRouterOptions> = {
  port: 25,
  ownHostNames: [],
  receives: () => Promise.resolve(false),
  allowPrivateDestinations: false,
  preferIpv6: false,
  hasIpv6: () => true,
  totalTimeoutMs: 10 * SECOND,
  maximumCached: 10_000,
  random: Math.random,
};

/** MX records come without a time to live here, so that of their hosts' addresses is used, within these bounds. */
const SHORTEST_LIFE_MS = 10 * SECOND;
const LONGEST_LIFE_MS = 5 * MINUTE;
/** Short enough that a repaired zone is seen by the first retry, 90 seconds later. */
const PERMANENT_FAULT_LIFE_MS = MINUTE;
const TEMPORARY_FAULT_LIFE_MS = 15 * SECOND;

/** Hosts, and the name of their group. */
type Found = FoundHosts & { readonly group: string };

interface Cached {
  readonly result: Found | Unroutable;
  readonly expiresAtMs: number;
}

/**
 * Routes by DNS: mail exchangers in order of preference, else the domain's own address (RFC 5321 section 5.1).
 * Results are cached, and concurrent calls of one holder for one destination share one look-up: another's may wait behind much else.
 * It may end without a result because of that, or with a part of it, which then counts for its holder alone.
 */
export class DirectRouter extends Router {
  private readonly options: Required<DirectRouterOptions>;
  private readonly ownHostNames: ReadonlySet<string>;
  private readonly cache: LRUCache<string, Cached>;
  private readonly lookUps = new SingleFlight<Found | Unroutable>();

  constructor(
    private readonly resolver: DnsResolver,
    private readonly clock: Clock,
    options: DirectRouterOptions = {},
  ) {
    super();
    this.options = { ...DEFAULTS, ...options };
    this.ownHostNames = new Set(this.options.ownHostNames.map(normalize));
    this.cache = new LRUCache(atMost(this.options.maximumCached));
  }

  override async resolve(destination: string, { holder, only }: RouteOptions = {}): Promise<Route> {
    const domain = normalize(destination);
    if (!isHostName(domain) || isIP(domain) !== 0) return NOT_A_DOMAIN;
    const common = only === undefined ? domain : `${domain} only ${only.name}`;
    const own = `${common} ${holder ?? ''}`;
    const result =
      this.recall(common) ??
      this.recall(own) ??
      (await this.lookUps.run(own, () => this.lookUp(domain, { common, own }, { holder, only })));
    if (result.kind === 'unroutable') return result;
    // For every caller: one cached order would send all mail of five minutes to the same host.
    const hosts = shuffleWithin(result.hosts, this.options.random);
    return { kind: 'hosts', hosts, port: this.options.port, final: true, group: result.group };
  }

  /** @param name of a destination, or of what one holder knows of it */
  private recall(name: string): Found | Unroutable | undefined {
    const cached = this.cache.get(name);
    return cached !== undefined && cached.expiresAtMs > this.clock.monotonicMs() ? cached.result : undefined;
  }

  private async lookUp(
    domain: string,
    { common, own }: { readonly common: string; readonly own: string },
    { holder, only }: RouteOptions,
  ): Promise<Found | Unroutable> {
    const asked = { signal: AbortSignal.timeout(this.options.totalTimeoutMs), holder };
    const answer = await this.resolver.resolveMx(domain, asked);
    const candidates = await this.choose(domain, answer, only);
    const result =
      candidates.kind === 'unroutable'
        ? candidates
        : withGroup(await findHosts(this.resolver, candidates, this.options, asked), groupOf(domain, answer));
    const isCertain = result.kind === 'found' ? !result.isPartial : result.permanent;
    this.cache.set(isCertain ? common : own, { result, expiresAtMs: this.clock.monotonicMs() + lifeOf(result) });
    return result;
  }

  /** Mail for a host whose last server this service is goes to its own listener, which relays nothing: it cannot turn in circles. */
  private async choose(domain: string, answer: DnsAnswer<MxRecord>, only?: HostFilter): Promise<Candidates> {
    const { receives, random } = this.options;
    const candidates = chooseCandidates(domain, answer, { ownHostNames: this.ownHostNames, random, only });
    if (candidates !== LEADS_BACK) return candidates;
    const isReceived = await receives(domain).catch(() => undefined);
    if (isReceived === undefined) return OWN_DOMAIN_UNKNOWN;
    return isReceived ? chooseCandidates(domain, answer, { ownHostNames: NO_NAMES, random, only }) : candidates;
  }
}

const NO_NAMES: ReadonlySet<string> = new Set();

function withGroup(found: FoundHosts | Unroutable, group: string): Found | Unroutable {
  return found.kind === 'unroutable' ? found : { ...found, group };
}

function lifeOf(result: Found | Unroutable): number {
  if (result.kind === 'found') {
    return Math.min(Math.max(result.ttlSeconds * SECOND, SHORTEST_LIFE_MS), LONGEST_LIFE_MS);
  }
  return result.permanent ? PERMANENT_FAULT_LIFE_MS : TEMPORARY_FAULT_LIFE_MS;
}

function normalize(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
