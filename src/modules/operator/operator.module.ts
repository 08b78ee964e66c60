import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module';
import { AuthModule } from '../../auth/auth.module';
import { DeliveryQueueModule } from '../../delivery/delivery.module';
import { DomainsModule } from '../domains/domains.module';
import { EmailsModule } from '../emails/emails.module';
import { StatsModule } from '../stats/stats.module';
import { OperatorDestinationsController, OperatorEgressController } from './destinations.controller';
import { OperatorDestinationsService, OperatorEgressService } from './operator-destinations.service';
import { OperatorDeliveriesService, OperatorQueueService } from './queue.service';
import { OperatorController, OperatorOrganizationsController } from './operator.controller';
import { OperatorOrganizationsService, OverviewService } from './operator.service';
import { OperatorQueueController } from './queue.controller';
import { OperatorRestrictedDomainsController } from './restricted-domains.controller';

/** `/operator/v1`: what operators see and change, across all organizations. */
@Module({
  imports: [AuditModule, AuthModule, DeliveryQueueModule, DomainsModule, EmailsModule, StatsModule],
  controllers: [
    ...[OperatorController, OperatorDestinationsController, OperatorEgressController],
    ...[OperatorOrganizationsController, OperatorQueueController, OperatorRestrictedDomainsController],
  ],
  providers: [
    ...[OperatorDeliveriesService, OperatorDestinationsService, OperatorEgressService],
    ...[OperatorOrganizationsService, OperatorQueueService, OverviewService],
  ],
  exports: [OperatorDestinationsService, OperatorEgressService, OperatorQueueService],
})
export class OperatorModule {}
