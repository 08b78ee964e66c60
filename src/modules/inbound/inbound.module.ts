import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module';
import { Clock } from '../../common/clock';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { EgressClient } from '../../common/egress/egress-client';
import { PublicEgressGuard } from '../../common/egress/egress-guard';
import { Metrics } from '../../common/metrics/metrics';
import { ListenerCertificate } from '../../common/tls/listener-certificate';
import { AppConfig } from '../../config/config';
import { classifierOf, ReplyClassifier } from '../../delivery/policy/classify-reply';
import { DeliveryQueueModule } from '../../delivery/delivery.module';
import { PublicKeysModule } from '../domains/dkim/public-keys.module';
import { EmailsModule } from '../emails/emails.module';
import { InboundMailModule } from '../inbound-mail/inbound-mail.module';
import { DeleteOldReportsJob, ProcessReportsJob } from './reports.job';
import { InboundLimits } from './inbound-limits';
import { InboundReception } from './inbound-reception';
import { FeedbackReport, InboundReport } from './inbound-report.entity';
import { InboundSmtpServer } from './inbound-smtp.server';
import { InboundMetrics } from './inbound.metrics';
import { InboundRepository } from './inbound.repository';
import { InboundService } from './inbound.service';
import { FeedbackIdentification } from './feedback-identification.service';
import { ReportExaminer } from './report-examiner.service';
import { ProcessingMetrics, ReportSettlement } from './report-settlement.service';
import { ReportTlsJob, TlsReportSender } from './report-tls.job';
import { RoutedReception } from './routed-reception';

/** Senders use it when it is offered; a self-signed certificate proves nothing, so the service makes none itself. */
const certificate = {
  provide: ListenerCertificate,
  inject: [AppConfig, Clock, Metrics],
  useFactory: ({ certificate: files }: AppConfig, clock: Clock, metrics: Metrics) =>
    new ListenerCertificate('Inbound', { files }, clock, metrics),
};

/**
 * The stored reports and the listener that takes them; the listener opens its port only when the role `inbound` calls
 * `listen()`.
 */
@Module({
  imports: [TypeOrmModule.forFeature([InboundReport, FeedbackReport]), AuthModule, InboundMailModule],
  providers: [
    ...[InboundLimits, InboundRepository, InboundService, DeleteOldReportsJob],
    ...[certificate, InboundMetrics, InboundReception, RoutedReception, InboundSmtpServer],
  ],
  exports: [InboundRepository, InboundService, InboundSmtpServer],
})
export class InboundModule {}

/** Role `worker`: processes stored reports, and sends those on TLS. A module of its own, as it needs emails and domains, which the role `inbound` alone does not load. */
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
