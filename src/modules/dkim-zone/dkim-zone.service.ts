import { Injectable, Logger } from '@nestjs/common';
import { Clock, MINUTE } from '../../common/clock';
import { reasonOf } from '../../common/errors/app-error';
import { isUuid } from '../../common/ids';
import { AppConfig, type DnsConfig } from '../../config/config';
import { PublicKeysService } from '../domains/dkim/public-keys.service';
import { DkimZoneMetrics } from './dkim-zone.metrics';
import { CLASS_IN, type DnsQuery, type Question, type Rcode, readQuery, TYPES } from './dns-query';
import { encodeFault, encodeReply, type OwnedRecord, type Reply } from './dns-reply';

const TRANSFERS: readonly number[] = [TYPES.AXFR, TYPES.IXFR];

/**
 * Answers for the delegated zone, and refuses everything else:
 * `<zone>` has SOA and NS, `<domain id>.<zone>` exists without records, `<selector>.<domain id>.<zone>` is a key.
 */
@Injectable()
export class DkimZoneService {
  private readonly logger = new Logger(DkimZoneService.name);
  private readonly zone: ZoneRecords | undefined;
  private warnAgainAtMs = 0;

  constructor(
    { dns }: AppConfig,
    private readonly keys: PublicKeysService,
    private readonly metrics: DkimZoneMetrics,
    private readonly clock: Clock,
  ) {
    this.zone = dns.dkimZone === undefined ? undefined : new ZoneRecords(dns, dns.dkimZone);
  }

  /**
   * The reply to one message; undefined when none is due. Never rejects.
   * @param limitOf how many bytes the way back takes; undefined: only the advice to come over TCP, for which nothing is looked up
   */
  async answer(message: Buffer, limitOf: ((query: DnsQuery) => number) | undefined): Promise<Buffer | undefined> {
    const query = readQuery(message);
    if (!query) {
      this.metrics.countDropped();
      return undefined;
    }
    if ('fault' in query) {
      this.metrics.countReply(query.fault);
      return encodeFault(query.header, query.fault);
    }
    const reply = limitOf ? await this.resolve(query) : withoutRecords('NOERROR');
    this.metrics.countReply(reply.rcode);
    return encodeReply(query, reply, limitOf?.(query) ?? 0);
  }

  private async resolve({ question, edns }: DnsQuery): Promise<Reply> {
    if (edns && edns.version > 0) return withoutRecords('BADVERS');
    if (question.class !== CLASS_IN || TRANSFERS.includes(question.type)) return withoutRecords('REFUSED');
    if (!this.zone || !isWithin(question.labels, this.zone.labels)) return withoutRecords('REFUSED');
    try {
      return await this.lookUp(question, this.zone);
    } catch (error) {
      this.warn(error);
      return withoutRecords('SERVFAIL');
    }
  }

  private async lookUp({ labels, type }: Question, zone: ZoneRecords): Promise<Reply> {
    const depth = labels.length - zone.labels.length;
    if (depth === 0) return zone.apex(type, depth);
    const [selector = '', domainId = ''] = depth === 1 ? ['', labels[0]] : labels;
    // Only what can be a domain's id reaches the database.
    if (depth > 2 || !isUuid(domainId)) return zone.absent('NXDOMAIN', depth);
    const records = await this.keys.publishedBy(domainId);
    if (depth === 1) return zone.absent(records.size > 0 ? 'NOERROR' : 'NXDOMAIN', depth);
    const text = records.get(selector);
    return text === undefined ? zone.absent('NXDOMAIN', depth) : zone.text(type, text, depth);
  }

  /** Once a minute: queries go on coming while the database is away. */
  private warn(error: unknown): void {
    const nowMs = this.clock.monotonicMs();
    if (nowMs < this.warnAgainAtMs) return;
    this.warnAgainAtMs = nowMs + MINUTE;
    this.logger.warn(`Keys cannot be looked up, queries are answered SERVFAIL: ${reasonOf(error)}`);
  }
}

function isWithin(labels: readonly string[], zone: readonly string[]): boolean {
  const end = labels.slice(-zone.length);
  return labels.length >= zone.length && zone.every((label, index) => label === end[index]);
}

function withoutRecords(rcode: Rcode): Reply {
  return { rcode, authoritative: false, answers: [], authorities: [] };
}

const TTL_SECONDS = 300;
const NAME_SERVER_TTL_SECONDS = 3_600;
/** How long resolvers remember that a name is absent: a rotation brings back one that was. */
const NEGATIVE_TTL_SECONDS = 60;
const MAX_STRING_BYTES = 255;

/** The labels of a zone and the records at its apex. */
export class ZoneRecords {
  /** In lower case. */
  readonly labels: readonly string[];
  private readonly nameServers: readonly string[];

  constructor({ nameServerHosts }: Pick<DnsConfig, 'nameServerHosts'>, zone: string) {
    this.labels = zone.split('.');
    this.nameServers = nameServerHosts;
  }

  /**
   * The zone's own records; types that it has not are NODATA.
   * @param skipLabels labels of the question before the zone's
   */
  apex(type: number, skipLabels: number): Reply {
    if (type === TYPES.SOA) return this.found([this.startOfAuthority(skipLabels, NAME_SERVER_TTL_SECONDS)]);
    if (type === TYPES.NS) return this.found(this.nameServers.map((data) => nameServer(data, skipLabels)));
    return type === TYPES.ANY ? this.found([refusalOfAny()]) : this.absent('NOERROR', skipLabels);
  }

  /** A name whose only record is a text. */
  text(type: number, text: string, skipLabels: number): Reply {
    if (type === TYPES.TXT) return this.found([textRecord(text)]);
    return type === TYPES.ANY ? this.found([refusalOfAny()]) : this.absent('NOERROR', skipLabels);
  }

  /** NXDOMAIN, or NODATA with NOERROR; either is remembered as long as the SOA says (RFC 2308 section 3). */
  absent(rcode: 'NOERROR' | 'NXDOMAIN', skipLabels: number): Reply {
    const authorities = [this.startOfAuthority(skipLabels, NEGATIVE_TTL_SECONDS)];
    return { rcode, authoritative: true, answers: [], authorities };
  }

  private found(answers: readonly OwnedRecord[]): Reply {
    return { rcode: 'NOERROR', authoritative: true, answers, authorities: [] };
  }

  /** The serial never moves: every process has to say the same, and this zone is never transferred. */
  private startOfAuthority(skipLabels: number, ttl: number): OwnedRecord {
    const [mname = '.'] = this.nameServers;
    const times = { serial: 1, refresh: 3_600, retry: 600, expire: 604_800, minimum: NEGATIVE_TTL_SECONDS };
    return { skipLabels, data: { type: 'SOA', ttl, data: { mname, rname: `hostmaster.${mname}`, ...times } } };
  }
}

function nameServer(data: string, skipLabels: number): OwnedRecord {
  return { skipLabels, data: { type: 'NS', ttl: NAME_SERVER_TTL_SECONDS, data } };
}

/** One record in strings of at most 255 bytes (RFC 1035 section 3.3.14). */
function textRecord(text: string): OwnedRecord {
  const data = text.match(new RegExp(`.{1,${MAX_STRING_BYTES}}`, 'g')) ?? [''];
  return { skipLabels: 0, data: { type: 'TXT', ttl: TTL_SECONDS, data } };
}

/** Instead of all there is (RFC 8482 section 4.2): only attackers need it, to have a large reply sent elsewhere. */
function refusalOfAny(): OwnedRecord {
  return { skipLabels: 0, data: { type: 'HINFO', ttl: TTL_SECONDS, data: { cpu: 'RFC8482', os: '' } } };
}
