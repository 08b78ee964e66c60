import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../../audit/audit.module';
import { EncryptedPrivacyService } from './encrypted-privacy.service';
import { PrivacyExportPart } from './privacy-export-part.entity';
import { PrivacyExportPartsRepository } from './privacy-export-parts.repository';
import { PrivacyKeyring } from './privacy-keyring.service';
import { PrivacyRequest } from './privacy-request.entity';
import { PrivacyRequestsRepository } from './privacy-requests.repository';
import { PrivacyRequestsService } from './privacy-requests.service';
import { PrivacyWork } from './privacy-work.service';

const SERVICES = [EncryptedPrivacyService, PrivacyKeyring, PrivacyRequestsService, PrivacyWork];
const REPOSITORIES = [PrivacyExportPartsRepository, PrivacyRequestsRepository];

/**
 * Requests and results, as they are stored. Apart from `PrivacyModule`, because the command line encrypts them again and
 * has no use for those who own the subjects' data.
 */
@Module({
  imports: [TypeOrmModule.forFeature([PrivacyExportPart, PrivacyRequest]), AuditModule],
  providers: [...SERVICES, ...REPOSITORIES],
  exports: [...SERVICES, ...REPOSITORIES],
})
export class PrivacyRequestsModule {}
