import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { StatsModule } from '../../stats/stats.module';
import { Domain } from '../domain.entity';
import { DomainScoresRepository } from './domain-scores.repository';

/** What the refreshing of reputation scores stands on. */
@Module({
  imports: [TypeOrmModule.forFeature([Domain]), StatsModule],
  providers: [DomainScoresRepository],
  exports: [DomainScoresRepository, StatsModule],
})
export class ReputationModule {}
