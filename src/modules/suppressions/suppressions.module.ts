import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module';
import { AddressHashing, SuppressionErasure } from './address-hashing.service';
import { ClearSuppressionsJob } from './clear-suppressions.job';
import { MissingDomain, SoftBounces, Suppression, SuppressionHashKey } from './suppression.entity';
import { SuppressionImportService } from './suppression-import.service';
import { SuppressionListService } from './suppression-list.service';
import { SuppressionsController } from './suppressions.controller';
import { SuppressionsRepository } from './suppressions.repository';
import { SuppressionsService } from './suppressions.service';

/** Suppression lists: their API, the checks of accepting and sending, and the automatic entries. */
@Module({
  imports: [TypeOrmModule.forFeature([Suppression, SoftBounces, MissingDomain, SuppressionHashKey]), AuditModule],
  controllers: [SuppressionsController],
  providers: [
    ...[AddressHashing, ClearSuppressionsJob, SuppressionErasure],
    ...[SuppressionImportService, SuppressionListService, SuppressionsRepository, SuppressionsService],
  ],
  exports: [
    ...[AddressHashing, SuppressionErasure, SuppressionImportService],
    ...[SuppressionListService, SuppressionsRepository, SuppressionsService],
  ],
})
export class SuppressionsModule {}
