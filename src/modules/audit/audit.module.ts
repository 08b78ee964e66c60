import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditTrail } from '../../auth/audit-trail';
import { AuditController } from './audit.controller';
import { AuditEntry } from './audit-entry.entity';
import { AuditNotes } from './audit-notes.service';
import { AuditRepository } from './audit.repository';
import { AuditService } from './audit.service';

/** Global because auth, which stands below, writes its changes down through a port of its own. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([AuditEntry])],
  controllers: [AuditController],
  providers: [AuditNotes, AuditRepository, AuditService, { provide: AuditTrail, useExisting: AuditService }],
  exports: [AuditService, AuditTrail],
})
export class AuditModule {}
