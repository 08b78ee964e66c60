import { Module } from '@nestjs/common';
import { EmailsModule } from '../emails/emails.module';
import { HitHistory } from './hits/hit-history';
import { HitQueue } from './hits/hit-queue.service';
import { HitWriter } from './hits/hit-writer.service';
import { TrackingMetrics } from './tracking-metrics';
import { TrackingController } from './tracking.controller';
import { TrackingService } from './tracking.service';

@Module({
  imports: [EmailsModule],
  controllers: [TrackingController],
  providers: [HitHistory, HitQueue, HitWriter, TrackingMetrics, TrackingService],
})
export class TrackingModule {}
