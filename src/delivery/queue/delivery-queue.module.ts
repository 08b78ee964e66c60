import { Module } from '@nestjs/common';
import { DeliveryQueueRepository } from './delivery-queue.repository';
import { LeaseConnection } from './lease-connection';
import { QueueViewRepository } from './queue-view.repository';
import { QueueMetrics } from './queue.metrics';
import { WorkerWaker } from './worker-waker.service';
import { WorkerSessionsRepository } from './worker-sessions.repository';

@Module({
  providers: [
    ...[DeliveryQueueRepository, QueueViewRepository, QueueMetrics],
    ...[LeaseConnection, WorkerSessionsRepository, WorkerWaker],
  ],
  exports: [DeliveryQueueRepository, QueueViewRepository, WorkerSessionsRepository, WorkerWaker],
})
export class DeliveryQueueModule {}
