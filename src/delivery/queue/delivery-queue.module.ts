import { Module } from '@nestjs/common';
import { DeliveryQueueRepository } from './delivery-queue.repository';
import { QueueBloatMetrics } from './queue-bloat-metrics';
import { QueueMetrics } from './queue-metrics';
import { WorkerWaker } from './worker-waker.service';
import { WorkerSessionsRepository } from './worker-sessions.repository';

@Module({
  providers: [DeliveryQueueRepository, WorkerSessionsRepository, WorkerWaker, QueueBloatMetrics, QueueMetrics],
  exports: [DeliveryQueueRepository, WorkerSessionsRepository, WorkerWaker],
})
export class DeliveryQueueModule {}
