import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module';
import { AppConfig } from '../../config/config';
import { classifierOf, ReplyClassifier } from '../../delivery/policy/replies/classify-reply';
import { DomainsModule } from '../domains/domains.module';
import { PublicKeysModule } from '../domains/dkim/public-keys.module';
import { EmailsModule } from '../emails/emails.module';
import { FeedbackIdentification } from './processing/feedback-identification.service';
import { ProcessReportsJob } from './processing/process-reports.job';
import { ReportExaminer } from './processing/report-examiner.service';
import { ProcessingMetrics } from './processing/processing.metrics';
import { ReportSettlement } from './processing/report-settlement.service';
import { DeleteOldReportsJob } from './queue/delete-old-reports.job';
import { FeedbackReport, InboundReport } from './queue/inbound-report.entity';
import { InboundReportsRepository } from './queue/inbound-reports.repository';
import { InboundReportLimits, InboundReportsService } from './queue/inbound-reports.service';

/** What others report on our mail (bounces, complaints, DMARC, TLS), as it is stored until a worker has read it. */
@Module({
  imports: [TypeOrmModule.forFeature([InboundReport, FeedbackReport]), AuthModule],
  providers: [InboundReportLimits, InboundReportsRepository, InboundReportsService, DeleteOldReportsJob],
  exports: [InboundReportsRepository, InboundReportsService],
})
export class InboundReportsModule {}

/** Role `worker`: reads stored reports. A module of its own, as it needs emails and domains, which the role `inbound` alone does not load. */
@Module({
  imports: [DomainsModule, EmailsModule, InboundReportsModule, PublicKeysModule],
  providers: [
    ...[FeedbackIdentification, ProcessingMetrics, ProcessReportsJob, ReportExaminer, ReportSettlement],
    {
      provide: ReplyClassifier,
      inject: [AppConfig],
      useFactory: ({ delivery }: AppConfig) => classifierOf(delivery.classificationRules),
    },
  ],
})
export class ReportProcessingModule {}
