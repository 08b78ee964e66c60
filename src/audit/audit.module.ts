import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditController } from './audit.controller';
import { AuditEntry } from './audit-entry.entity';
import { AuditNotes } from './audit-notes.service';
import { AuditRepository } from './audit.repository';
import { AuditService } from './audit.service';

/** The audit log; every room above writes down who changed what. */
@Module({
  imports: [TypeOrmModule.forFeature([AuditEntry])],
  controllers: [AuditController],
  providers: [AuditNotes, AuditRepository, AuditService],
  exports: [AuditService],
})
export class AuditModule {}
