import { Module } from '@nestjs/common';
import { ClassificationModule } from '../../../delivery/policy/classification.module';
import { PublicKeysModule } from '../../domains/dkim/public-keys.module';
import { EmailsModule } from '../../emails/emails.module';
import { InboundModule } from '../inbound.module';
import { FeedbackIdentification } from './feedback-identification.service';
import { ProcessReportsJob } from './process-reports.job';
import { ProcessingMetrics } from './processing.metrics';
import { ReportExaminer } from './report-examiner.service';
import { ReportSettlement } from './report-settlement.service';

/** Role `worker`: processes stored reports. Apart from the listener, which must not load emails and domains. */
@Module({
  imports: [ClassificationModule, EmailsModule, InboundModule, PublicKeysModule],
  providers: [FeedbackIdentification, ProcessingMetrics, ProcessReportsJob, ReportExaminer, ReportSettlement],
})
export class InboundProcessingModule {}
