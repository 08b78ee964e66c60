import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { ThrottlingModule } from '../../throttling/throttling.module';
import { EmailsModule } from '../emails/emails.module';
import { SubmissionLogin } from './submission-login';
import { SubmissionCertificate } from './submission-certificate.service';
import { SubmissionLimits } from './submission-limits';
import { SubmissionReception } from './submission-reception';
import { SubmissionServices, SubmissionSmtpServer } from './submission-smtp.server';
import { SubmissionMetrics } from './submission.metrics';

/** Role `submission`: mail over SMTP. The listener opens its ports only when the role calls `listen()`. */
@Module({
  imports: [AuthModule, EmailsModule, ThrottlingModule],
  providers: [
    ...[SubmissionSmtpServer, SubmissionServices, SubmissionReception, SubmissionLogin],
    ...[SubmissionCertificate, SubmissionLimits, SubmissionMetrics],
  ],
  exports: [SubmissionSmtpServer],
})
export class SubmissionModule {}
