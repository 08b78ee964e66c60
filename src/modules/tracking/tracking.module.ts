import { Module } from '@nestjs/common';
import { EmailsModule } from '../emails/emails.module';
import { HitHistory } from './hit-history';
import { HitQueue } from './hit-queue.service';
import { HitWriter, TrackingMetrics } from './hit-writer.service';
import { TrackingController, UnsubscribeController } from './tracking.controller';
import { TrackingService, UnsubscribeService } from './tracking.service';

/** Public routes in mail: tracked pixels and links, and unsubscribing. */
@Module({
  imports: [EmailsModule],
  controllers: [TrackingController, UnsubscribeController],
  providers: [HitHistory, HitQueue, HitWriter, TrackingMetrics, TrackingService, UnsubscribeService],
})
export class TrackingModule {}
