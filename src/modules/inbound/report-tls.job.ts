import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
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
  type SessionCount,
  TlsReportData,
} from '../../delivery/tls/tls-report-data.service';
import { DomainsService } from '../domains/domains.service';
import { SendRawService } from '../emails/accept/raw/send-raw.service';

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
    const name = contact.slice(contact.lastIndexOf('@') + 1).toLowerCase();
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

const SUCCESS = 'success';
const DAY_SECONDS = 86_400;

/** A report on TLS (RFC 8460), packed as it is sent. */
export interface BuiltReport {
  /** Names it, the same however often it is built. */
  readonly id: string;
  readonly fileName: string;
  readonly gzip: Buffer;
}

/** @param sender the host that the mail came from */
export function buildReport(
  { day, domain }: DueReport,
  counts: readonly SessionCount[],
  { organization, contact }: TlsReportsConfig,
  sender: string,
): BuiltReport {
  // A msg-id (RFC 5322 section 3.6.4), which a header and a file name can hold.
  const id = `${day}_${domain}@${sender}`;
  const submitter = domainOf(contact);
  const report = {
    'organization-name': organization,
    'date-range': { 'start-datetime': `${day}T00:00:00Z`, 'end-datetime': `${day}T23:59:59Z` },
    'contact-info': contact,
    'report-id': id,
    policies: groupsOf(counts).map((group) => policyOf(domain, group)),
  };
  const begin = Date.parse(`${day}T00:00:00Z`) / 1_000;
  const fileName = `${submitter}!${domain}!${begin}!${begin + DAY_SECONDS - 1}.json.gz`;
  return { id, fileName, gzip: gzipSync(JSON.stringify(report)) };
}

/** By the policy that they were checked against; a domain may have changed its policy in the day, and with TLSA records each host has one. */
function groupsOf(counts: readonly SessionCount[]): (readonly [SessionCount, ...SessionCount[]])[] {
  const groups = new Map<string, [SessionCount, ...SessionCount[]]>();
  for (const count of counts) {
    const key = `${count.policyType} ${count.policy}`;
    const group = groups.get(key);
    if (group) group.push(count);
    else groups.set(key, [count]);
  }
  return [...groups.values()];
}

const MX_FIELD = 'mx: ';

function policyOf(domain: string, own: readonly [SessionCount, ...SessionCount[]]) {
  const [{ policyType, policy }] = own;
  const failures = own.filter(({ result }) => result !== SUCCESS);
  const lines = policy === '' ? [] : policy.split('\n');
  const hosts = lines.filter((line) => policyType === 'sts' && line.startsWith(MX_FIELD));
  return {
    policy: {
      'policy-type': policyType,
      ...(lines.length > 0 && { 'policy-string': lines }),
      'policy-domain': domain,
      ...(hosts.length > 0 && { 'mx-host': hosts.map((line) => line.slice(MX_FIELD.length)) }),
    },
    summary: {
      'total-successful-session-count': sum(own.filter(({ result }) => result === SUCCESS)),
      'total-failure-session-count': sum(failures),
    },
    ...(failures.length > 0 && { 'failure-details': failures.map(detailOf) }),
  };
}

function detailOf({ result, mxHost, sendingIp, receivingIp, sessions }: SessionCount) {
  return {
    'result-type': result,
    ...(sendingIp && { 'sending-mta-ip': sendingIp }),
    ...(mxHost && { 'receiving-mx-hostname': mxHost }),
    ...(receivingIp && { 'receiving-ip': receivingIp }),
    'failed-session-count': sessions,
  };
}

function sum(counts: readonly SessionCount[]): number {
  return counts.reduce((total, { sessions }) => total + sessions, 0);
}

/** The mail of RFC 8460 section 5.3. */
export function reportMail(report: BuiltReport, domain: string, { contact }: TlsReportsConfig, to: string): string {
  const submitter = domainOf(contact);
  // The same whenever it is built: it is one mail, however often it is tried.
  const boundary = `tlsrpt-${createHash('sha256').update(report.id).digest('hex')}`;
  return [
    `From: ${contact}`,
    `To: ${to}`,
    `Subject: Report Domain: ${domain} Submitter: ${submitter}`,
    ` Report-ID: <${report.id}>`,
    `TLS-Report-Domain: ${domain}`,
    `TLS-Report-Submitter: ${submitter}`,
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type="tlsrpt"; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    `This is an aggregate TLS report from ${submitter} for ${domain}.`,
    '',
    `--${boundary}`,
    'Content-Type: application/tlsrpt+gzip',
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: attachment;`,
    ` filename="${report.fileName}"`,
    '',
    ...(report.gzip.toString('base64').match(/.{1,76}/g) ?? []),
    `--${boundary}--`,
    '',
  ].join('\r\n');
}
