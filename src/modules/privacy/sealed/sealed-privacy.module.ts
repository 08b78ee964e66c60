import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PrivacyExportPart } from '../privacy-export-part.entity';
import { PrivacyRequest } from '../privacy-request.entity';
import { SealedPrivacyRepository } from './sealed-privacy.repository';
import { SealedPrivacyService } from './sealed-privacy.service';

/** For operators: what is sealed of the privacy requests of all organizations. */
@Module({
  imports: [TypeOrmModule.forFeature([PrivacyExportPart, PrivacyRequest])],
  providers: [SealedPrivacyRepository, SealedPrivacyService],
  exports: [SealedPrivacyService],
})
export class SealedPrivacyModule {}
