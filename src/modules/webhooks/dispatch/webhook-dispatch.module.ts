import { Module } from '@nestjs/common';
import { EgressClient } from '../../../common/egress/egress-client';
import { EgressGuard } from '../../../common/egress/egress-guard';
import { AuditModule } from '../../../audit/audit.module';
import { EmailsModule } from '../../emails/emails.module';
import { EventsModule } from '../../events/events.module';
import { EgressModule } from '../egress.module';
import { WebhookSecrets } from '../webhook-secrets.service';
import { AttemptSettler, SettlementEffects } from './attempt-settler.service';
import { DispatchLoop } from './dispatch-loop.service';
import { DispatchMetrics } from './dispatch-metrics.service';
import { DispatchUpkeep } from './dispatch-upkeep.service';
import { DispatchRepository } from './dispatch.repository';
import { EndpointRecovery } from './endpoint-recovery.service';
import { EventExpander } from './event-expander.service';
import { AttemptSteps, WebhookDispatcher } from './webhook-dispatcher.service';
import { WebhookSender } from './webhook-sender.service';

/** Role `worker`: makes webhooks of events and sends them. */
@Module({
  imports: [AuditModule, EgressModule, EmailsModule, EventsModule],
  providers: [
    { provide: EgressClient, inject: [EgressGuard], useFactory: (guard: EgressGuard) => new EgressClient(guard) },
    AttemptSettler,
    AttemptSteps,
    DispatchLoop,
    DispatchMetrics,
    DispatchRepository,
    DispatchUpkeep,
    EndpointRecovery,
    EventExpander,
    SettlementEffects,
    WebhookDispatcher,
    WebhookSecrets,
    WebhookSender,
  ],
})
export class WebhookDispatchModule {}
