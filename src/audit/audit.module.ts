import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditRetentionJob } from './audit-retention.job';
import { AuditController } from './audit.controller';
import { AuditEntry } from './audit-entry.entity';
import { AuditRepository } from './audit.repository';
import { AuditService } from './audit.service';

/** The audit log: who changed what. Every layer above records its changes here. */
@Module({
  imports: [TypeOrmModule.forFeature([AuditEntry])],
  controllers: [AuditController],
  providers: [AuditRepository, AuditRetentionJob, AuditService],
  exports: [AuditService],
})
export class AuditModule {}
