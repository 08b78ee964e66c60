import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import pLimit from 'p-limit';
import { HOUR } from '../../common/clock';
import { EgressClient } from '../../common/egress/egress-client';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { domainOf } from '../../common/mail-address';
import { AppConfig, type TlsReportsConfig } from '../../config/config';
import {
  type DueReport,
  REPORT_TAG,
  type ReportTargets,
  TlsReportData,
} from '../../delivery/tls/tls-report-data.service';
import { DomainsService } from '../domains/domains.service';
import { SendRawService } from '../emails/accept/send-raw.service';
import { buildReport, type BuiltReport, reportMail } from './build-report';

/** In one run; the next goes on with the others. */
const MAX_REPORTS = 5_000;
const CONCURRENCY = 5;

/** In whose name reports are sent. */
interface ReportOrigin {
  readonly settings: TlsReportsConfig;
  /** Who sends the mail: the owner of the contact's domain. */
  readonly organizationId: string | undefined;
}

/** Sends reports, by mail or to a web server. */
@Injectable()
export class TlsReportSender {
  private readonly logger = new Logger(TlsReportSender.name);

  constructor(
    private readonly emails: SendRawService,
    private readonly domains: DomainsService,
    private readonly client: EgressClient,
  ) {}

  async senderOf({ contact }: TlsReportsConfig): Promise<string | undefined> {
    const name = domainOf(contact).toLowerCase();
    const sender = await this.domains.findVerified(name);
    if (!sender) {
      this.logger.warn(`Reports on TLS are not mailed: ${name}, of TLS_REPORT_CONTACT, is no verified domain`);
    }
    return sender?.organizationId;
  }

  /** @throws Error when it was not taken */
  async post({ gzip: body }: BuiltReport, url: URL): Promise<void> {
    const sent = await this.client.post({ url, headers: { 'content-type': 'application/tlsrpt+gzip' }, body });
    if (sent.kind === 'failed') throw new Error(`${url.host}: ${sent.failure.reason}`);
    if (sent.status < 200 || sent.status > 299) throw new Error(`${url.host} returned ${sent.status}`);
  }

  /** Like any other mail; once, however often it is tried. */
  async mail(
    report: BuiltReport,
    domain: string,
    { settings, organizationId }: ReportOrigin,
    to: string,
  ): Promise<void> {
    if (organizationId === undefined) return;
    const raw = Buffer.from(reportMail(report, domain, settings, to), 'latin1').toString('base64');
    const request = { raw, to: [to], category: 'transactional', tags: [REPORT_TAG] };
    await this.emails.send(request, `${report.id} ${to}`.slice(0, 255), { organizationId, mode: 'live' });
  }
}

/** Sends TLS reports (RFC 8460) to domains that request them: how their mail exchangers were reached on the day before. */
@Injectable()
export class ReportTlsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(ReportTlsJob.name);

  constructor(
    private readonly data: TlsReportData,
    private readonly sender: TlsReportSender,
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
    const origin = { settings, organizationId: await this.sender.senderOf(settings) };
    const limit = pLimit(CONCURRENCY);
    const due = await this.data.due(MAX_REPORTS);
    await Promise.all(due.map((report) => limit(() => this.attempt(report, origin, going))));
  }

  private async attempt(report: DueReport, origin: ReportOrigin, going: AbortSignal): Promise<void> {
    if (going.aborted) return;
    await this.jobs.attempt(`The report on TLS to ${report.domain}`, () => this.report(report, origin));
  }

  private async report(report: DueReport, origin: ReportOrigin): Promise<void> {
    const targets = await this.data.targetsOf(report.domain);
    if (targets === 'unknown') return;
    if (targets !== undefined) {
      const counts = await this.data.countsOf(report);
      const built = buildReport(report, counts, origin.settings, this.config.delivery.mailHost);
      await this.sendToAll(built, report.domain, targets, origin);
      this.logger.log({ msg: 'A report on TLS was sent', domain: report.domain, day: report.day });
    }
    await this.data.end(report);
  }

  /** One that takes it is enough: the others would get it again and again. @throws Error when no address takes it */
  private async sendToAll(
    built: BuiltReport,
    domain: string,
    { web, mail }: ReportTargets,
    origin: ReportOrigin,
  ): Promise<void> {
    const sends = [
      ...web.map((url) => () => this.sender.post(built, url)),
      ...mail.map((to) => () => this.sender.mail(built, domain, origin, to)),
    ];
    const results = await Promise.allSettled(sends.map((send) => send()));
    const refusals = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as Error);
    if (refusals[0] && refusals.length === results.length) throw refusals[0];
    for (const { message: reason } of refusals) {
      this.logger.warn({ msg: 'A report on TLS was not taken', domain, reason });
    }
  }
}
