import type { Answer } from 'dns-packet';
import { LRUCache } from 'lru-cache';
import { atMostBytes } from '../../common/bounded-cache';
import { SingleFlight } from '../../common/async/promises';
import { type Clock, MINUTE, SECOND } from '../../common/clock';
import type { DnssecAnswer, DnssecResolver } from '../../common/dns/dnssec-resolver';
import type { TlsaDemand, TlsaRecord } from '../smtp/conversation/tlsa';
import { tlsaDemandOf } from '../smtp/conversation/tlsa';

/** `none`: the host has no TLSA records, or none that are proven. `unknown`: mail must wait until that is clear. */
export type HostDane = TlsaDemand | 'none' | 'unknown';

/** A domain, and where its alias leads to; `none`: nothing proves that its mail exchangers are its own. */
type DomainNames = readonly string[] | 'none' | 'unknown';

const MAX_REMEMBERED = 20_000;
/** Of all of them: a host has some hundred bytes of records, and whoever owns its name can publish 16 KB. */
const MAX_BYTES = 16 * 1024 * 1024;
/** As long as hosts are cached (`DirectRouter`), within the records' time to live. */
const LONGEST_LIFE_MS = 5 * MINUTE;
const SHORTEST_LIFE_MS = 10 * SECOND;
const TROUBLE_LIFE_MS = 15 * SECOND;

/**
 * What look-ups have found. One is under way per name and holder: another's may wait behind much else, and end without a result
 * because of that, which then counts for its holder alone.
 */
class Remembered<Found extends HostDane | DomainNames> {
  private readonly cache: LRUCache<string, Found>;
  private readonly lookUps = new SingleFlight<Found>();

  constructor(clock: Clock) {
    const perf = { now: () => clock.monotonicMs() };
    const bound = atMostBytes<Found>(MAX_REMEMBERED, MAX_BYTES, bytesOf);
    this.cache = new LRUCache({ ...bound, ttl: LONGEST_LIFE_MS, ttlResolution: 0, perf });
  }

  peek(key: string): Found | undefined {
    return this.cache.peek(key);
  }

  async recall(key: string, holder: string, find: () => Promise<readonly [Found, lifeMs: number]>): Promise<Found> {
    const own = `${key} ${holder}`;
    const known = this.cache.get(key) ?? this.cache.get(own);
    if (known !== undefined) return known;
    return this.lookUps.run(own, async () => {
      const [found, ttl] = await find();
      this.cache.set(found === 'unknown' ? own : key, found, { ttl });
      return found;
    });
  }
}

/** The TLSA records of mail exchangers, as far as DNSSEC proves the way to them (RFC 7672 section 2). */
export class DanePolicies {
  private readonly domains: Remembered<DomainNames>;
  private readonly hosts: Remembered<HostDane>;

  constructor(
    private readonly resolver: Pick<DnssecResolver, 'query'>,
    clock: Clock,
  ) {
    this.domains = new Remembered(clock);
    this.hosts = new Remembered(clock);
  }

  /**
   * By host. Never rejects.
   * @param domain the recipient's
   * @param holder whose look-ups these are
   */
  async of(domain: string, hostNames: readonly string[], port: number, holder = ''): Promise<Map<string, HostDane>> {
    // Without a proof that these are the domain's hosts, theirs prove nothing for the domain.
    const nextHopNames = await this.domains.recall(domain, holder, () => this.namesOf(domain, holder));
    const ofHost = async (host: string): Promise<HostDane> => {
      if (typeof nextHopNames === 'string') return nextHopNames;
      const found = await this.hosts.recall(`${port} ${host}`, holder, () => this.lookUp(host, port, holder));
      return typeof found === 'string' ? found : { ...found, nextHopNames };
    };
    return new Map(await Promise.all(hostNames.map(async (host) => [host, await ofHost(host)] as const)));
  }

  /** The cached state of a host, without a look-up. */
  known(host: string, port: number): HostDane | undefined {
    return this.hosts.peek(`${port} ${host}`);
  }

  private async namesOf(domain: string, holder: string): Promise<readonly [DomainNames, number]> {
    const answer = await this.resolver.query(domain, 'MX', { holder });
    if (answer.kind === 'temporary') return ['unknown', TROUBLE_LIFE_MS];
    const names = [...new Set([domain, lastAlias(answer.answers, domain)])];
    return [answer.isSecure ? names : 'none', lifeOf(answer.answers)];
  }

  /** A host in an unsigned zone has none; asking for them there fails at some name servers (section 2.2.2). */
  private async lookUp(host: string, port: number, holder: string): Promise<readonly [HostDane, number]> {
    const addresses = await this.addressesOf(host, holder);
    if (addresses.kind === 'temporary') return ['unknown', TROUBLE_LIFE_MS];
    const baseDomains = await this.baseDomainsOf(host, addresses, holder);
    if (baseDomains === 'unknown') return ['unknown', TROUBLE_LIFE_MS];
    for (const baseDomain of baseDomains) {
      const answer = await this.resolver.query(`_${port}._tcp.${baseDomain}`, 'TLSA', { holder });
      if (answer.kind === 'temporary') return ['unknown', TROUBLE_LIFE_MS];
      const records = answer.isSecure ? recordsIn(answer.answers) : [];
      if (records.length > 0) return [tlsaDemandOf(baseDomain, records), lifeOf(answer.answers)];
    }
    return ['none', lifeOf(addresses.answers)];
  }

  /** Where records may be: at the target of an alias, then at the alias; only there, when nothing proves its target (section 2.1.3). */
  private async baseDomainsOf(
    host: string,
    { isSecure, answers }: Extract<DnssecAnswer, { kind: 'answered' }>,
    holder: string,
  ): Promise<readonly string[] | 'unknown'> {
    const alias = lastAlias(answers, host);
    if (alias === host) return isSecure ? [host] : [];
    if (isSecure) return [alias, host];
    const own = await this.resolver.query(host, 'CNAME', { holder });
    if (own.kind === 'temporary') return 'unknown';
    return own.isSecure ? [host] : [];
  }

  private async addressesOf(host: string, holder: string): Promise<DnssecAnswer> {
    const four = await this.resolver.query(host, 'A', { holder });
    const hasSome = four.kind === 'answered' && four.answers.some(({ type }) => type === 'A');
    return hasSome || four.kind === 'temporary' ? four : this.resolver.query(host, 'AAAA', { holder });
  }
}

/** The targets of aliases (section 2.2.2): their TLSA records are used first. */
function lastAlias(answers: readonly Answer[], host: string): string {
  const targets = new Map(
    answers.flatMap((answer) => (answer.type === 'CNAME' ? [[bare(answer.name), bare(answer.data)] as const] : [])),
  );
  let name = host;
  for (let steps = targets.size; steps > 0; steps -= 1) name = targets.get(name) ?? name;
  return name;
}

function recordsIn(answers: readonly Answer[]): TlsaRecord[] {
  return answers.flatMap((answer) =>
    // A copy, since a slice keeps the whole reply in memory.
    answer.type === 'TLSA' ? [{ ...answer.data, data: Buffer.from(answer.data.certificate) }] : [],
  );
}

function bytesOf(found: HostDane | DomainNames): number {
  const records = typeof found === 'object' && 'records' in found ? found.records : [];
  return records.reduce((sum, { data }) => sum + data.length, 0);
}

function lifeOf(answers: readonly Answer[]): number {
  const seconds = answers.map((answer) => ('ttl' in answer ? (answer.ttl ?? 0) : Infinity));
  return Math.min(Math.max(Math.min(...seconds) * SECOND, SHORTEST_LIFE_MS), LONGEST_LIFE_MS);
}

function bare(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
