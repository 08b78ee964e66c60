import path from 'node:path';
import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { Clock } from '../../common/clock';
import { Metrics } from '../../common/metrics/metrics';
import { ListenerCertificate } from '../../common/tls/listener-certificate';
import { AppConfig } from '../../config/config';
import { ThrottlingModule } from '../../throttling/throttling.module';
import { EmailsModule } from '../emails/emails.module';
import { SubmissionLimits, SubmissionLogin } from './submission-login';
import { SubmissionReception } from './submission-reception';
import { SubmissionServices, SubmissionSmtpServer } from './submission-smtp.server';
import { SubmissionMetrics } from './submission.metrics';

/** In local mode the service makes one itself. */
const certificate = {
  provide: ListenerCertificate,
  inject: [AppConfig, Clock, Metrics],
  useFactory: ({ certificate: files, dataDir, delivery }: AppConfig, clock: Clock, metrics: Metrics) => {
    const ownFolder = delivery.mode === 'local' ? path.join(dataDir, 'submission') : undefined;
    return new ListenerCertificate('Submission', { files, ownFolder }, clock, metrics);
  },
};

/** Role `submission`: mail over SMTP. The listener opens its ports only when the role calls `listen()`. */
@Module({
  imports: [AuthModule, EmailsModule, ThrottlingModule],
  providers: [
    ...[SubmissionSmtpServer, SubmissionServices, SubmissionReception, SubmissionLogin],
    ...[certificate, SubmissionLimits, SubmissionMetrics],
  ],
  exports: [SubmissionSmtpServer],
})
export class SubmissionModule {}
