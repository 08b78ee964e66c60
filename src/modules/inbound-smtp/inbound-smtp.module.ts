import { Module } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { Metrics } from '../../common/metrics/metrics';
import { ListenerCertificate } from '../../common/tls/listener-certificate';
import { AppConfig } from '../../config/config';
import { InboundMailModule } from '../inbound-mail/inbound-mail.module';
import { InboundReportsModule } from '../inbound-reports/inbound-reports.module';
import { InboundLimits } from './inbound-limits';
import { InboundReception } from './inbound-reception';
import { InboundSmtpServer } from './inbound-smtp.server';
import { InboundMetrics } from './inbound.metrics';
import { ReportReception } from './report-reception';
import { RoutedReception } from './routed-reception';

/** Senders use it when it is offered; a self-signed certificate proves nothing, so the service makes none itself. */
const certificate = {
  provide: ListenerCertificate,
  inject: [AppConfig, Clock, Metrics],
  useFactory: ({ certificate: files }: AppConfig, clock: Clock, metrics: Metrics) =>
    new ListenerCertificate('Inbound', { files }, clock, metrics),
};

/** Role `inbound`: the listener for mail from everywhere. It opens its port when the role calls `listen()`. */
@Module({
  imports: [InboundMailModule, InboundReportsModule],
  providers: [
    ...[certificate, InboundLimits, InboundMetrics, InboundReception, InboundSmtpServer],
    ...[ReportReception, RoutedReception],
  ],
  exports: [InboundSmtpServer],
})
export class InboundSmtpModule {}
