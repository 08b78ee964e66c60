import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { EmailsModule } from '../../emails/emails.module';
import { EventsModule } from '../../events/events.module';
import { ReplayWalk } from '../replay/replay-walk.service';
import { WebhookReplaysRepository } from '../replay/webhook-replays.repository';
import { WebhookDeliveriesRepository } from '../webhook-deliveries.repository';
import { WebhookEndpoint } from '../webhook-endpoint.entity';
import { WebhookMessage } from '../webhook-message.entity';
import { WebhookUpkeepRepository } from './webhook-upkeep.repository';

/** Role `worker`: what has to be done for webhooks beside sending them. */
@Module({
  imports: [TypeOrmModule.forFeature([WebhookEndpoint, WebhookMessage]), EmailsModule, EventsModule],
  providers: [ReplayWalk, WebhookDeliveriesRepository, WebhookReplaysRepository, WebhookUpkeepRepository],
  exports: [ReplayWalk, WebhookUpkeepRepository],
})
export class WebhookUpkeepModule {}
