import { Module } from '@nestjs/common';
import { DeliveryQueueModule } from '../../delivery/queue/delivery-queue.module';
import { StatsController } from './stats.controller';
import { StatsModule } from './stats.module';
import { StatsReportService } from './stats-report.service';

/** The statistics of the API. Apart from the counting, which the features above do, because it asks for domains' names. */
@Module({
  imports: [StatsModule, DeliveryQueueModule],
  controllers: [StatsController],
  providers: [StatsReportService],
})
export class StatsApiModule {}
