import { Injectable, Logger } from '@nestjs/common';
import { Clock, MINUTE } from '../../common/clock';
import { isUuid } from '../../common/ids';
import { AppConfig } from '../../config/config';
import { PublicKeysService } from '../domains/dkim/public-keys.service';
import { DkimZoneMetrics } from './dkim-zone.metrics';
import { CLASS_IN, type DnsQuery, type Question, type Rcode, readQuery, TYPES } from './dns-query';
import { encodeFault, encodeReply, type Reply } from './dns-reply';
import { ZoneRecords } from './zone-records';

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
   * @param limitOf how many bytes the way back takes
   */
  async answer(message: Buffer, limitOf: (query: DnsQuery) => number): Promise<Buffer | undefined> {
    const query = readQuery(message);
    if (!query) {
      this.metrics.countDropped();
      return undefined;
    }
    if ('fault' in query) {
      this.metrics.countReply(query.fault);
      return encodeFault(query.header, query.fault);
    }
    const reply = await this.resolve(query);
    this.metrics.countReply(reply.rcode);
    return encodeReply(query, reply, limitOf(query));
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
    this.logger.warn(`Keys cannot be looked up, queries are answered SERVFAIL: ${(error as Error).message}`);
  }
}

function isWithin(labels: readonly string[], zone: readonly string[]): boolean {
  const end = labels.slice(-zone.length);
  return labels.length >= zone.length && zone.every((label, index) => label === end[index]);
}

function withoutRecords(rcode: Rcode): Reply {
  return { rcode, authoritative: false, answers: [], authorities: [] };
}
