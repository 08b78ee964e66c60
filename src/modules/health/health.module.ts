import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { Clock } from '../../common/clock';
import { DatabaseUrl } from '../../database/database.service';
import { DeliveryQueueModule } from '../../delivery/queue/delivery-queue.module';
import { DatabaseHealthIndicator } from './database.health-indicator';
import { DatabaseProbe } from './database-probe';
import { HealthController } from './health.controller';
import { HealthService } from './health.service';
import { ProcessHealthIndicator } from './process.health-indicator';
import { QueueHealthIndicator } from './queue.health-indicator';

/** Probes and the health report. Uses the process's `Draining` when there is one. */
@Module({
  // A line per failed probe would fill the log while the database is away; the pool and the workers tell of it already.
  imports: [TerminusModule.forRoot({ logger: false }), DeliveryQueueModule],
  controllers: [HealthController],
  providers: [
    {
      provide: DatabaseProbe,
      inject: [DatabaseUrl, Clock],
      useFactory: ({ url }: DatabaseUrl, clock: Clock) => new DatabaseProbe(url, clock),
    },
    DatabaseHealthIndicator,
    QueueHealthIndicator,
    ProcessHealthIndicator,
    HealthService,
  ],
})
export class HealthModule {}
