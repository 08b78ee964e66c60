import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module';
import { ExportPartsRepository } from './export/export-parts.repository';
import { ExportParts } from './export/export-parts.service';
import { PrivacyExportPart } from './privacy-export-part.entity';
import { PrivacyRequest } from './privacy-request.entity';
import { PrivacyRequestsRepository } from './privacy-requests.repository';
import { PrivacyRequestsService } from './privacy-requests.service';
import { PrivacyVault } from './privacy-vault.service';
import { PrivacyWork } from './processing/privacy-work.service';

/** Requests and results, as they are kept. */
@Module({
  imports: [TypeOrmModule.forFeature([PrivacyExportPart, PrivacyRequest]), AuditModule],
  providers: [
    ...[ExportParts, ExportPartsRepository],
    ...[PrivacyRequestsRepository, PrivacyRequestsService, PrivacyVault, PrivacyWork],
  ],
  exports: [AuditModule, ExportParts, PrivacyRequestsRepository, PrivacyRequestsService, PrivacyVault, PrivacyWork],
})
export class PrivacyRequestsModule {}
