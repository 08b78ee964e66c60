import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { SuppressionsModule } from '../suppressions/suppressions.module';
import { ErasureExceptions } from './erasure/erasure-exceptions.service';
import { ErasuresController } from './erasures.controller';
import { ExportReading } from './export/export-reading.service';
import { ExportsController } from './exports.controller';
import { PrivacyRequestsModule } from './privacy-requests.module';

/** What customers see of privacy requests; meeting them is the worker's. */
@Module({
  imports: [AuthModule, PrivacyRequestsModule, SuppressionsModule],
  controllers: [ExportsController, ErasuresController],
  providers: [ErasureExceptions, ExportReading],
})
export class PrivacyModule {}
