import { Module } from '@nestjs/common';
import { EmailCountsRepository } from './email-counts.repository';
import { EmailCountsService } from './email-counts.service';
import { ReputationService } from './reputation.service';
import { StatsRepository } from './stats.repository';
import { StatsService } from './stats.service';

@Module({
  providers: [EmailCountsRepository, EmailCountsService, StatsRepository, StatsService, ReputationService],
  exports: [EmailCountsService, StatsRepository, StatsService, ReputationService],
})
export class StatsModule {}
