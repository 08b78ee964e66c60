import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { EventsController } from './events.controller';
import { EventsRepository } from './events.repository';
import { EventsService } from './events.service';
import { RecentStreams } from './recent-streams.service';

/** The event log as clients read it: the pull feed, and what webhooks are made from. */
@Module({
  imports: [AuthModule],
  controllers: [EventsController],
  providers: [EventsRepository, EventsService, RecentStreams],
  exports: [EventsService, RecentStreams],
})
export class EventsModule {}
