import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveryQueueRepository } from './delivery-queue.repository';
import { LeaseConnection } from './lease-connection';
import { QueueAction } from './queue-action.entity';
import { QueueActionsRepository } from './queue-actions.repository';
import { QueueActionsService } from './queue-actions.service';
import { QueueViewRepository } from './queue-view.repository';
import { QueueMetrics } from './queue.metrics';
import { WorkerWaker } from './worker-waker.service';
import { WorkerSessionsRepository } from './worker-sessions.repository';

@Module({
  imports: [TypeOrmModule.forFeature([QueueAction])],
  providers: [
    ...[DeliveryQueueRepository, QueueViewRepository, QueueMetrics],
    ...[QueueActionsRepository, QueueActionsService],
    ...[LeaseConnection, WorkerSessionsRepository, WorkerWaker],
  ],
  exports: [DeliveryQueueRepository, QueueActionsService, QueueViewRepository, WorkerSessionsRepository, WorkerWaker],
})
export class DeliveryQueueModule {}
