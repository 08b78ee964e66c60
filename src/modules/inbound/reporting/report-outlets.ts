import { Injectable, Logger } from '@nestjs/common';
import { EgressClient } from '../../../common/egress/egress-client';
import type { TlsReportsConfig } from '../../../config/config';
import { REPORT_TAG } from '../../../delivery/tls/tls-report-data.service';
import { DomainsService } from '../../domains/domains.service';
import { SendRawService } from '../../emails/accept/raw/send-raw.service';
import { type BuiltReport, reportMail } from './build-report';

/** What reports are sent with. */
export interface Way {
  readonly settings: TlsReportsConfig;
  /** Who sends the mail: the owner of the contact's domain. */
  readonly organizationId: string | undefined;
}

/** The ways out of reports. */
@Injectable()
export class ReportOutlets {
  private readonly logger = new Logger(ReportOutlets.name);

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
    if (sent.status < 200 || sent.status > 299) throw new Error(`${url.host} answered ${sent.status}`);
  }

  /** Like any other mail; once, however often it is tried. */
  async mail(report: BuiltReport, domain: string, { settings, organizationId }: Way, to: string): Promise<void> {
    if (organizationId === undefined) return;
    const raw = Buffer.from(reportMail(report, domain, settings, to), 'latin1').toString('base64');
    const request = { raw, to: [to], category: 'transactional', tags: [REPORT_TAG] };
    await this.emails.send(request, `${report.id} ${to}`.slice(0, 255), { organizationId, mode: 'live' });
  }
}
