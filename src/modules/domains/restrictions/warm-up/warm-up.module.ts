import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { StatsModule } from '../../../stats/stats.module';
import { Domain } from '../../domain.entity';
import { DomainTransitionsModule } from '../../domain-transitions.module';
import { WarmUpChanges } from './warm-up-changes.service';
import { WarmUpRepository } from './warm-up.repository';
import { WarmUpService } from './warm-up.service';
import { WarmUpWatch } from './warm-up-watch.service';

@Module({
  imports: [TypeOrmModule.forFeature([Domain]), DomainTransitionsModule, StatsModule],
  providers: [WarmUpRepository, WarmUpService, WarmUpChanges, WarmUpWatch],
  exports: [WarmUpService, WarmUpChanges, WarmUpWatch],
})
export class WarmUpModule {}
