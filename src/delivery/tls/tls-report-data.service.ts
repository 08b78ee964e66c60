import { Injectable } from '@nestjs/common';
import { DnsResolver } from '../../common/dns/dns-resolver';
import { readReportTargets, REPORT_TAG, type ReportTargets } from './report-targets';
import { DestinationsRepository, type DueReport, type SessionCount } from '../shaping/destinations.repository';

/** What reports to other domains are made of: which are due, what has been counted for them, and where they go. */
@Injectable()
export class TlsReportData {
  constructor(
    private readonly destinations: DestinationsRepository,
    private readonly resolver: DnsResolver,
  ) {}

  /** Of days that are over. */
  due(limit: number): Promise<DueReport[]> {
    return this.destinations.dueTlsReports(limit);
  }

  /** `unknown` while the DNS does not answer; undefined when the domain asks for none. */
  async targetsOf(domain: string): Promise<ReportTargets | 'unknown' | undefined> {
    const answer = await this.resolver.resolveTxt(`_smtp._tls.${domain}`);
    if (answer.kind === 'temporary') return 'unknown';
    return answer.kind === 'found' ? readReportTargets(answer.records) : undefined;
  }

  /** The largest counts of one report. */
  countsOf(report: DueReport): Promise<SessionCount[]> {
    return this.destinations.readTlsSessions(report);
  }

  /** It has been sent, or no address asks for it. */
  async end(report: DueReport): Promise<void> {
    await this.destinations.removeTlsSessions(report);
  }
}

export { REPORT_TAG };
export type { DueReport, ReportTargets, SessionCount };
