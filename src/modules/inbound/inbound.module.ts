import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module';
import { Clock } from '../../common/clock';
import { ListenerCertificate } from '../../common/tls/listener-certificate';
import { AppConfig } from '../../config/config';
import { InboundMailModule } from '../inbound-mail/inbound-mail.module';
import { DeleteOldReportsJob } from './delete-old-reports.job';
import { FeedbackReport, InboundReport } from './inbound-report.entity';
import { InboundLimits } from './inbound-limits';
import { InboundReception } from './inbound-reception';
import { InboundSmtpServer } from './inbound-smtp.server';
import { InboundMetrics } from './inbound.metrics';
import { InboundRepository } from './inbound.repository';
import { InboundService } from './inbound.service';
import { RoutedReception } from './routed-reception';

/** Senders use it when it is offered; one that no authority vouches for is as good as none, so the service makes none itself. */
const certificate = {
  provide: ListenerCertificate,
  inject: [AppConfig, Clock],
  useFactory: ({ certificate: files }: AppConfig, clock: Clock) => new ListenerCertificate('Inbound', { files }, clock),
};

/**
 * The stored reports and the listener that takes them; the listener opens its port only when the role `inbound` calls
 * `listen()`. Processing is a module of its own: it needs emails and public keys, which a process with the role `inbound`
 * alone does not load.
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
