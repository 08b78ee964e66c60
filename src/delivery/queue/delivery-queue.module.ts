import { Module } from '@nestjs/common';
import { DeliveryQueueRepository } from './delivery-queue.repository';
import { LeaseConnection } from './lease-connection';
import { QueueMetrics } from './queue.metrics';
import { WorkerWaker } from './worker-waker.service';
import { WorkerSessionsRepository } from './worker-sessions.repository';

@Module({
  providers: [DeliveryQueueRepository, LeaseConnection, WorkerSessionsRepository, WorkerWaker, QueueMetrics],
  exports: [DeliveryQueueRepository, WorkerSessionsRepository, WorkerWaker],
})
export class DeliveryQueueModule {}
