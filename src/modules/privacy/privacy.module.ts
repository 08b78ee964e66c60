import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module';
import { EmailsModule } from '../emails/emails.module';
import { InboundMailModule } from '../inbound-mail/inbound-mail.module';
import { InboundReportsModule } from '../inbound-reports/inbound-reports.module';
import { LocalMailboxModule } from '../local-mailbox/local-mailbox.module';
import { SuppressionsModule } from '../suppressions/suppressions.module';
import { ErasureHandler, RetentionExceptionsService } from './erasure/erasure-handler.service';
import { ErasureSteps } from './erasure/erasure-steps.service';
import { ErasuresController, ExportsController } from './privacy.controller';
import { WebhooksModule } from '../webhooks/webhooks.module';
import { CleanUpExportsJob, PrivacyMetrics, PrivacyRequestsJob, RenewStatisticsJob } from './privacy-requests.job';
import { ExportCollector } from './export/export-collector.service';
import { ExportHandler } from './export/export-handler.service';
import { ExportParts, ExportsService } from './export/exports.service';
import { EncryptedPrivacyService, PrivacyKeyring } from './requests/privacy-keyring.service';
import { PrivacyExportPart, PrivacyRequest } from './requests/privacy-request.entity';
import { PrivacyExportPartsRepository, PrivacyRequestsRepository } from './requests/privacy-requests.repository';
import { PrivacyRequestsService } from './requests/privacy-requests.service';
import { PrivacyWork } from './requests/privacy-work.service';

const STORING = [
  PrivacyExportPartsRepository,
  PrivacyKeyring,
  PrivacyRequestsRepository,
  PrivacyRequestsService,
  PrivacyWork,
];
const EXPORTING = [CleanUpExportsJob, ExportCollector, ExportHandler, ExportParts, ExportsService];
const ERASING = [ErasureHandler, ErasureSteps, RenewStatisticsJob, RetentionExceptionsService];
/** Modules that own personal data. */
const OWNERS = [
  EmailsModule,
  InboundMailModule,
  InboundReportsModule,
  LocalMailboxModule,
  SuppressionsModule,
  WebhooksModule,
];

/** Exports and erasures for data subjects: the API accepts and shows them, workers process them. */
@Module({
  imports: [TypeOrmModule.forFeature([PrivacyExportPart, PrivacyRequest]), AuditModule, ...OWNERS],
  controllers: [ExportsController, ErasuresController],
  providers: [...STORING, ...EXPORTING, ...ERASING, EncryptedPrivacyService, PrivacyMetrics, PrivacyRequestsJob],
  exports: [EncryptedPrivacyService],
})
export class PrivacyModule {}
