import { Module } from '@nestjs/common';
import { EmailsModule } from '../emails/emails.module';
import { SuppressionsModule } from '../suppressions/suppressions.module';
import { ErasureHandler } from './erasure/erasure-handler.service';
import { ErasureModule } from './erasure/erasure.module';
import { ExportCollector } from './export/export-collector.service';
import { ExportHandler } from './export/export-handler.service';
import { PrivacyRequestsModule } from './privacy-requests.module';
import { PrivacyJob } from './processing/privacy-job.service';
import { PrivacyMetrics } from './processing/privacy-metrics.service';
import { type PrivacyRequestHandler, PrivacyRequestHandlers } from './processing/privacy-request-handler';
import { PrivacyUpkeep } from './processing/privacy-upkeep.service';

/** Role `worker`: importing it works off privacy requests as long as the application runs. */
@Module({
  imports: [ErasureModule, PrivacyRequestsModule, EmailsModule, SuppressionsModule],
  providers: [
    ...[ExportCollector, ExportHandler, PrivacyJob, PrivacyMetrics, PrivacyUpkeep],
    {
      provide: PrivacyRequestHandlers,
      inject: [ExportHandler, ErasureHandler],
      useFactory: (...handlers: PrivacyRequestHandler[]) => new PrivacyRequestHandlers(handlers),
    },
  ],
})
export class PrivacyProcessingModule {}
