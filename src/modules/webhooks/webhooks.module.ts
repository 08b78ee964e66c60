import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module';
import { AuditModule } from '../../audit/audit.module';
import { EmailsModule } from '../emails/emails.module';
import { EgressModule } from './egress.module';
import { EventsModule } from '../events/events.module';
import { WebhookReplaysRepository } from './replay/webhook-replays.repository';
import { WebhookReplays } from './replay/webhook-replays.service';
import { WebhookActionsController } from './webhook-actions.controller';
import { WebhookChanges } from './webhook-changes.service';
import { WebhookCreation } from './webhook-creation.service';
import { WebhookDeliveriesController } from './webhook-deliveries.controller';
import { WebhookDeliveriesRepository } from './webhook-deliveries.repository';
import { WebhookDeliveries } from './webhook-deliveries.service';
import { WebhookEndpoint } from './webhook-endpoint.entity';
import { WebhookEndpointsRepository } from './webhook-endpoints.repository';
import { WebhookMessage } from './webhook-message.entity';
import { WebhookReplay } from './replay/webhook-replay.entity';
import { WebhookRotation } from './webhook-rotation.service';
import { WebhookSecrets } from './webhook-secrets.service';
import { WebhookTargets } from './webhook-targets.service';
import { WebhooksController } from './webhooks.controller';
import { WebhooksService } from './webhooks.service';

const REPOSITORIES = [WebhookDeliveriesRepository, WebhookEndpointsRepository, WebhookReplaysRepository];
const CHANGING = [WebhookChanges, WebhookCreation, WebhookRotation, WebhookSecrets, WebhookTargets, WebhooksService];

/** What customers see of webhooks; sending is the worker's. */
@Module({
  imports: [
    TypeOrmModule.forFeature([WebhookEndpoint, WebhookMessage, WebhookReplay]),
    ...[AuditModule, AuthModule, EgressModule, EmailsModule, EventsModule],
  ],
  controllers: [WebhooksController, WebhookActionsController, WebhookDeliveriesController],
  providers: [...REPOSITORIES, ...CHANGING, WebhookDeliveries, WebhookReplays],
})
export class WebhooksModule {}
