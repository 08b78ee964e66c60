import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module';
import { Domain } from './domain.entity';
import { DomainTransitionsRepository } from './domain-transitions.repository';
import { DomainTransitions } from './domain-transitions.service';

@Module({
  imports: [TypeOrmModule.forFeature([Domain]), AuditModule],
  providers: [DomainTransitionsRepository, DomainTransitions],
  exports: [DomainTransitions],
})
export class DomainTransitionsModule {}
