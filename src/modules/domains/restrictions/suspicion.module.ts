import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { StatsModule } from '../../stats/stats.module';
import { Domain } from '../domain.entity';
import { DomainTransitionsModule } from '../domain-transitions.module';
import { WarmUpModule } from './warm-up/warm-up.module';
import { RestrictedDomains } from './restricted-domains.service';
import { RestrictedDomainsRepository } from './restricted-domains.repository';
import { SuspicionChanges } from './suspicion-changes.service';
import { SuspicionWatch } from './suspicion-watch.service';

@Module({
  imports: [TypeOrmModule.forFeature([Domain]), DomainTransitionsModule, StatsModule, WarmUpModule],
  providers: [RestrictedDomains, RestrictedDomainsRepository, SuspicionChanges, SuspicionWatch],
  exports: [RestrictedDomains, SuspicionChanges, SuspicionWatch],
})
export class SuspicionModule {}
