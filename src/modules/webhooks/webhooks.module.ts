import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { EgressClient } from '../../common/egress/egress-client';
import { EgressGuard, PublicEgressGuard } from '../../common/egress/egress-guard';
import { AppConfig } from '../../config/config';
import { EventsModule } from '../events/events.module';
import { AttemptSettler, EndpointRecovery } from './dispatch/attempt-settler.service';
import { DispatchLoop } from './dispatch/dispatch-loop.service';
import { DispatchMetrics } from './dispatch/dispatch.metrics';
import { ExpandEventsJob } from './dispatch/expand-events.job';
import { ReplayWebhooksJob } from './deliveries/replay-webhooks.job';
import { CleanUpWebhooksJob, SweepMessagesJob } from './queue/webhooks.job';
import { WebhookDispatcher } from './dispatch/webhook-dispatcher.service';
import { WebhookSender } from './dispatch/webhook-sender.service';
import { WebhookChangesService } from './endpoints/webhook-changes.service';
import { WebhookDeliveriesController } from './deliveries/webhook-deliveries.controller';
import { WebhookDeliveriesService } from './deliveries/webhook-deliveries.service';
import { WebhookEndpointsRepository, WebhookReplaysRepository } from './queue/webhook-endpoints.repository';
import { WebhookMessagesRepository } from './queue/webhook-messages.repository';
import { EncryptedSecretsService, WebhookSecrets } from './endpoints/webhook-secrets.service';
import { WebhookUrlService } from './endpoints/webhook-url.service';
import { WebhookEndpoint, WebhookMessage, WebhookRemoval, WebhookReplay } from './queue/webhook.entity';
import { WebhooksController } from './endpoints/webhooks.controller';
import { WebhooksService } from './endpoints/webhooks.service';

const REPOSITORIES = [WebhookEndpointsRepository, WebhookMessagesRepository, WebhookReplaysRepository];
/** Where webhooks may go: checked when an endpoint is created or changed, and before each connection. */
const EGRESS_GUARD = { provide: EgressGuard, inject: [AppConfig], useFactory: createGuard };

/** The endpoints of webhooks and their deliveries, as customers manage them; `WebhookDispatchModule` sends. */
@Module({
  imports: [
    TypeOrmModule.forFeature([WebhookEndpoint, WebhookMessage, WebhookRemoval, WebhookReplay]),
    AuditModule,
    EventsModule,
  ],
  controllers: [WebhooksController, WebhookDeliveriesController],
  providers: [
    ...REPOSITORIES,
    EGRESS_GUARD,
    CleanUpWebhooksJob,
    EncryptedSecretsService,
    ReplayWebhooksJob,
    WebhookChangesService,
    WebhookDeliveriesService,
    WebhookSecrets,
    WebhookUrlService,
    WebhooksService,
  ],
  exports: [
    EgressGuard,
    EncryptedSecretsService,
    WebhookDeliveriesService,
    WebhookEndpointsRepository,
    WebhookMessagesRepository,
    WebhookSecrets,
  ],
})
export class WebhooksModule {}

function createGuard({ delivery, webhooks }: AppConfig): EgressGuard {
  const resolver = new NodeDnsResolver({ servers: delivery.dnsServers });
  return new PublicEgressGuard(resolver, { allowLoopback: webhooks.allowPrivate });
}

/** Turns events into webhooks and sends them. A module of its own, because a process that loads it sends: role `worker` only. */
@Module({
  imports: [AuditModule, EventsModule, WebhooksModule],
  providers: [
    { provide: EgressClient, inject: [EgressGuard], useFactory: (guard: EgressGuard) => new EgressClient(guard) },
    AttemptSettler,
    DispatchLoop,
    DispatchMetrics,
    EndpointRecovery,
    ExpandEventsJob,
    SweepMessagesJob,
    WebhookDispatcher,
    WebhookSender,
  ],
})
export class WebhookDispatchModule {}
