import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { EventFeedRepository } from './event-feed.repository';
import { EventFeedService } from './event-feed.service';
import { EventPull } from './event-pull.service';
import { EventsController } from './events.controller';

/** The event log as clients read it: the pull feed, and what webhooks are made from. */
@Module({
  imports: [AuthModule],
  controllers: [EventsController],
  providers: [EventFeedRepository, EventFeedService, EventPull],
  exports: [EventFeedService],
})
export class EventsModule {}
