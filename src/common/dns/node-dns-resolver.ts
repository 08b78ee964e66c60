import type { MxRecord as NodeMxRecord, RecordWithTtl } from 'node:dns';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { SECOND } from '../clock';
import {
  type DnsAnswer,
  dnsErrorCode,
  DnsResolver,
  type IpAddress,
  isHostName,
  type LookupOptions,
  type MxRecord,
} from './dns-resolver';
import { LOOK_UPS, type LookUp } from './look-up-thread';

export interface NodeDnsResolverOptions {
  /** `host:port` or `[v6]:port`, in order of preference; the system's own when empty. */
  readonly servers?: readonly string[];
  /** Limit of one look-up with all its tries. */
  readonly queryTimeoutMs?: number;
}

const QUERY_TIMEOUT_MS = 3 * SECOND;
/** A lost datagram costs half the limit instead of the look-up. */
const TRIES = 2;
/** A reply over TCP holds 4,000 records, each of which costs those who read it some microseconds. */
const MOST = { addresses: 64, exchangers: 200, names: 200, texts: 5_000 };
/** Of one text; the owner of a zone can publish 64 KB. The longest in use are DKIM keys of 4,096 bits, with some 800. */
const MAX_TEXT_LENGTH = 4_096;

/** DNS through `node:dns`, which is c-ares, in a thread of its own: no hosts file, no search list, no cache. */
export class NodeDnsResolver extends DnsResolver {
  private readonly servers: readonly string[];
  private readonly queryTimeoutMs: number;

  constructor(options: NodeDnsResolverOptions = {}) {
    super();
    this.servers = options.servers ?? [];
    this.queryTimeoutMs = options.queryTimeoutMs ?? QUERY_TIMEOUT_MS;
  }

  override async resolveMx(name: string, options: LookupOptions = {}): Promise<DnsAnswer<MxRecord>> {
    const answer = await this.query<NodeMxRecord>({ method: 'resolveMx', name, most: MOST.exchangers }, options);
    return mapRecords(answer, ({ priority, exchange }) => ({ preference: priority, exchange: normalize(exchange) }));
  }

  override async resolveAddresses(name: string, options: LookupOptions = {}): Promise<DnsAnswer<IpAddress>> {
    const [four, six] = await Promise.all([
      this.query<RecordWithTtl>({ method: 'resolve4', name, most: MOST.addresses }, options),
      this.query<RecordWithTtl>({ method: 'resolve6', name, most: MOST.addresses }, options),
    ]);
    return mergeFamilies(withFamily(four, 4), withFamily(six, 6));
  }

  override async resolveTxt(name: string, options: LookupOptions = {}): Promise<DnsAnswer<string>> {
    const answer = await this.query<string[]>({ method: 'resolveTxt', name, most: MOST.texts }, options);
    return mapRecords(answer, (strings) => strings.join('').slice(0, MAX_TEXT_LENGTH));
  }

  override async resolveCname(name: string, options: LookupOptions = {}): Promise<DnsAnswer<string>> {
    return mapRecords(await this.query<string>({ method: 'resolveCname', name, most: MOST.names }, options), normalize);
  }

  /** Looked up as a name: the platform's own reverse look-up would read the hosts file first. */
  override async resolvePtr(address: string, options: LookupOptions = {}): Promise<DnsAnswer<string>> {
    const name = reverseName(address) ?? '';
    return mapRecords(await this.query<string>({ method: 'resolvePtr', name, most: MOST.names }, options), normalize);
  }

  private async query<Item>(
    question: Pick<LookUp, 'method' | 'name' | 'most'>,
    { signal, holder }: LookupOptions,
  ): Promise<DnsAnswer<Item>> {
    // c-ares reads a name up to a NUL, and an empty one as the root.
    if (!isHostName(question.name)) return { kind: 'no-domain' };
    if (signal?.aborted === true) return { kind: 'temporary', reason: 'ECANCELLED' };
    const { servers, queryTimeoutMs: timeoutMs } = this;
    try {
      const records = await LOOK_UPS.ask({ ...question, servers, timeoutMs, tries: TRIES }, { signal, holder });
      return records.length > 0 ? { kind: 'found', records: records as Item[] } : { kind: 'no-data' };
    } catch (error) {
      return answerOfError(error);
    }
  }
}

/** c-ares: ENOTFOUND is NXDOMAIN, ENODATA is an answer without the record; nothing else says anything of the name. */
function answerOfError(error: unknown): DnsAnswer<never> {
  const code = dnsErrorCode(error);
  switch (code) {
    case 'ENODATA':
      return { kind: 'no-data' };
    case 'ENOTFOUND':
    case 'EBADNAME':
      return { kind: 'no-domain' };
    default:
      return { kind: 'temporary', reason: code };
  }
}

function mapRecords<From, To>(answer: DnsAnswer<From>, map: (record: From) => To): DnsAnswer<To> {
  return answer.kind === 'found' ? { ...answer, records: answer.records.map(map) } : answer;
}

function withFamily(answer: DnsAnswer<{ address: string; ttl: number }>, family: 4 | 6): DnsAnswer<IpAddress> {
  if (answer.kind !== 'found') return answer;
  const ttlSeconds = answer.records.reduce((least, record) => Math.min(least, record.ttl), Infinity);
  return { kind: 'found', records: answer.records.map(({ address }) => ({ address, family })), ttlSeconds };
}

/** The first kind that either has; NXDOMAIN last, since some servers answer it for a mere lack of AAAA. */
function mergeFamilies(four: DnsAnswer<IpAddress>, six: DnsAnswer<IpAddress>): DnsAnswer<IpAddress> {
  if (four.kind === 'found' && six.kind === 'found') {
    const ttlSeconds = Math.min(four.ttlSeconds ?? Infinity, six.ttlSeconds ?? Infinity);
    return { kind: 'found', records: [...four.records, ...six.records], ttlSeconds };
  }
  if (four.kind === 'found' && six.kind === 'temporary') return { ...four, failedFamily: 6 };
  if (six.kind === 'found' && four.kind === 'temporary') return { ...six, failedFamily: 4 };
  return PRECEDENCE[four.kind] <= PRECEDENCE[six.kind] ? four : six;
}

const PRECEDENCE: Record<DnsAnswer<never>['kind'], number> = { found: 0, temporary: 1, 'no-data': 2, 'no-domain': 3 };

function normalize(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** Where the names of an address are kept (RFC 1035 section 3.5, RFC 3596 section 2.5); undefined for no address. */
export function reverseName(address: string): string | undefined {
  if (isIP(address) === 0) return undefined;
  const parsed = ipaddr.parse(address);
  const bytes = parsed.toByteArray();
  if (parsed.kind() === 'ipv4') return `${bytes.reverse().join('.')}.in-addr.arpa`;
  const nibbles = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${[...nibbles].reverse().join('.')}.ip6.arpa`;
}
