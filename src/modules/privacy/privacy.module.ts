import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { ErasuresController } from './erasures.controller';
import { ExportReading } from './export/export-reading.service';
import { ExportsController } from './exports.controller';
import { PrivacyRequestsModule } from './privacy-requests.module';

/** What customers see of privacy requests; meeting them is the worker's. */
@Module({
  imports: [AuthModule, PrivacyRequestsModule],
  controllers: [ExportsController, ErasuresController],
  providers: [ExportReading],
})
export class PrivacyModule {}
