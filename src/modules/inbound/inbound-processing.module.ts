import { Module } from '@nestjs/common';
import { KnownKeysModule } from '../domains/dkim/known-keys.module';
import { EmailsModule } from '../emails/emails.module';
import { InboundReportsModule } from './inbound-reports.module';
import { FeedbackIdentification } from './processing/feedback-identification.service';
import { ProcessingMetrics } from './processing/processing-metrics.service';
import { ReportExaminer } from './processing/report-examiner.service';
import { ReportProcessing } from './processing/report-processing.service';
import { ReportSettlement } from './processing/report-settlement.service';
import { SignedOriginals } from './processing/signed-originals.service';
import { ReportQueueRepository } from './report-queue.repository';

/** Role `worker`: importing it works off reports as long as the application runs. */
@Module({
  imports: [EmailsModule, InboundReportsModule, KnownKeysModule],
  providers: [
    FeedbackIdentification,
    ProcessingMetrics,
    ReportExaminer,
    ReportProcessing,
    ReportQueueRepository,
    ReportSettlement,
    SignedOriginals,
  ],
})
export class InboundProcessingModule {}
