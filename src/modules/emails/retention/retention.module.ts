import { Module } from '@nestjs/common';
import { AuthModule } from '../../../auth/auth.module';
import { DeliveryQueueModule } from '../../../delivery/queue/delivery-queue.module';
import { StatsModule } from '../../stats/stats.module';
import { ContentRetention } from './content-retention.service';
import { ContentsRepository } from './contents.repository';
import { MonthCreation } from './month-creation.service';
import { MonthRemover } from './month-remover.service';
import { MonthRetention } from './month-retention.service';
import { MonthsRepository } from './months.repository';

/** What the jobs of retention are made of. */
@Module({
  imports: [AuthModule, DeliveryQueueModule, StatsModule],
  providers: [ContentRetention, ContentsRepository, MonthCreation, MonthRemover, MonthRetention, MonthsRepository],
  exports: [ContentRetention, MonthCreation, MonthRetention],
})
export class RetentionModule {}
