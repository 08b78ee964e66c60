import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveryQueueModule } from '../../delivery/delivery.module';
import { FoldStatsJob } from './fold-stats.job';
import { StatsController } from './stats.controller';
import { SendingRate, StatsDelta, StatsHourly, StatsProviders } from './stats-hourly.entity';
import { StatsReportService } from './stats-report.service';
import { StatsRepository } from './stats.repository';
import { StatsService } from './stats.service';

/** Statistics: the counting, which the features above do, and the API. Names of domains come from `DomainDirectory`. */
@Module({
  imports: [TypeOrmModule.forFeature([SendingRate, StatsHourly, StatsProviders, StatsDelta]), DeliveryQueueModule],
  controllers: [StatsController],
  providers: [FoldStatsJob, StatsReportService, StatsRepository, StatsService],
  exports: [StatsService],
})
export class StatsModule {}
