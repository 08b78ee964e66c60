import { Module } from '@nestjs/common';
import { NodeDnsResolver } from '../../../common/dns/node-dns-resolver';
import { EgressClient } from '../../../common/egress/egress-client';
import { PublicEgressGuard } from '../../../common/egress/egress-guard';
import { AppConfig } from '../../../config/config';
import { DeliveryQueueModule } from '../../../delivery/queue/delivery-queue.module';
import { classifierOf, ReplyClassifier } from '../../../delivery/policy/classify-reply';
import { PublicKeysModule } from '../../domains/dkim/public-keys.module';
import { EmailsModule } from '../../emails/emails.module';
import { InboundModule } from '../inbound.module';
import { TlsReportSender, ReportTlsJob } from '../reporting/report-tls.job';
import { FeedbackIdentification } from './feedback-identification.service';
import { ProcessReportsJob } from './process-reports.job';
import { ProcessingMetrics, ReportSettlement } from './report-settlement.service';
import { ReportExaminer } from './report-examiner.service';

/** Role `worker`: processes stored reports, and sends those on TLS. Apart from the listener, which must not load emails and domains. */
@Module({
  imports: [DeliveryQueueModule, EmailsModule, InboundModule, PublicKeysModule],
  providers: [
    ...[FeedbackIdentification, ProcessingMetrics, ProcessReportsJob, ReportExaminer, ReportSettlement],
    ...[TlsReportSender, ReportTlsJob],
    {
      provide: ReplyClassifier,
      inject: [AppConfig],
      useFactory: ({ delivery }: AppConfig) => classifierOf(delivery.classificationRules),
    },
    {
      provide: EgressClient,
      inject: [AppConfig],
      useFactory: ({ delivery: { dnsServers: servers, allowPrivateDestinations: allowPrivate } }: AppConfig) =>
        new EgressClient(
          new PublicEgressGuard(new NodeDnsResolver({ servers }), { allowLoopback: false, allowPrivate }),
        ),
    },
  ],
})
export class InboundProcessingModule {}
