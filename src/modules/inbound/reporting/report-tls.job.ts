import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import pLimit from 'p-limit';
import { HOUR } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { AppConfig } from '../../../config/config';
import { type DueReport, type ReportTargets, TlsReportData } from '../../../delivery/tls/tls-report-data.service';
import { buildReport, type BuiltReport } from './build-report';
import { ReportOutlets, type Way } from './report-outlets';

/** In one run; the next goes on with the others. */
const MAX_REPORTS = 5_000;
const CONCURRENCY = 5;

/** Tells domains that ask for it how their mail exchangers were reached over TLS on the day before (RFC 8460). */
@Injectable()
export class ReportTlsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(ReportTlsJob.name);

  constructor(
    private readonly data: TlsReportData,
    private readonly outgoing: ReportOutlets,
    private readonly config: AppConfig,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.tlsReports === undefined) return;
    this.jobs.start({ name: 'report-tls', everyMs: HOUR, exclusive: true, run: (going) => this.run(going) });
  }

  /** A report that could not be sent is tried again with the next run, for three days. */
  async run(going = this.jobs.ending): Promise<void> {
    const settings = this.config.tlsReports;
    if (settings === undefined) return;
    const way = { settings, organizationId: await this.outgoing.senderOf(settings) };
    const limit = pLimit(CONCURRENCY);
    const due = await this.data.due(MAX_REPORTS);
    await Promise.all(due.map((report) => limit(() => this.attempt(report, way, going))));
  }

  private async attempt(report: DueReport, way: Way, going: AbortSignal): Promise<void> {
    if (going.aborted) return;
    await this.jobs.attempt(`The report on TLS to ${report.domain}`, () => this.report(report, way));
  }

  private async report(report: DueReport, way: Way): Promise<void> {
    const targets = await this.data.targetsOf(report.domain);
    if (targets === 'unknown') return;
    if (targets !== undefined) {
      const counts = await this.data.countsOf(report);
      const built = buildReport(report, counts, way.settings, this.config.delivery.mailHost);
      await this.sendToAll(built, report.domain, targets, way);
      this.logger.log({ msg: 'A report on TLS was sent', domain: report.domain, day: report.day });
    }
    await this.data.end(report);
  }

  /** One that takes it is enough: the others would get it again and again. @throws Error when no address takes it */
  private async sendToAll(built: BuiltReport, domain: string, { web, mail }: ReportTargets, way: Way): Promise<void> {
    const ways = [
      ...web.map((url) => () => this.outgoing.post(built, url)),
      ...mail.map((to) => () => this.outgoing.mail(built, domain, way, to)),
    ];
    const results = await Promise.allSettled(ways.map((send) => send()));
    const refusals = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as Error);
    if (refusals[0] && refusals.length === results.length) throw refusals[0];
    for (const { message: reason } of refusals) {
      this.logger.warn({ msg: 'A report on TLS was not taken', domain, reason });
    }
  }
}
