import { Module } from '@nestjs/common';
import { AuditModule } from '../../../audit/audit.module';
import { EgressClient } from '../../../common/egress/egress-client';
import { EgressGuard } from '../../../common/egress/egress-guard';
import { EventsModule } from '../../events/events.module';
import { WebhooksModule } from '../webhooks.module';
import { AttemptSettler, EndpointRecovery } from './attempt-settler.service';
import { DispatchLoop } from './dispatch-loop.service';
import { DispatchMetrics } from './dispatch.metrics';
import { ExpandEventsJob } from './expand-events.job';
import { SweepMessagesJob } from './sweep-messages.job';
import { WebhookDispatcher } from './webhook-dispatcher.service';
import { WebhookSender } from './webhook-sender.service';

/** Turns events into webhooks and sends them. Apart, because a process that loads it sends: role `worker` only. */
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
