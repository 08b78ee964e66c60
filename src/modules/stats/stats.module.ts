import { Module } from '@nestjs/common';
import { ReputationService } from './reputation.service';
import { StatsRepository } from './stats.repository';
import { StatsService } from './stats.service';

@Module({
  providers: [StatsRepository, StatsService, ReputationService],
  exports: [StatsService, ReputationService],
})
export class StatsModule {}
