import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { Clock } from '../../common/clock';
import { DatabaseUrl } from '../../database/pool/database.service';
import { DeliveryQueueModule } from '../../delivery/delivery.module';
import { DatabaseProbe } from './database-probe';
import { HealthController } from './health.controller';
import { HealthService } from './health.service';
import {
  DatabaseHealthIndicator,
  HostHealthIndicator,
  ProcessHealthIndicator,
  QueueHealthIndicator,
} from './health-indicators';

/** Probes and the health report. Uses the process's `Draining` when there is one. */
@Module({
  // A line per failed probe would fill the log while the database is unavailable; the pool and the workers log that already.
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
    HostHealthIndicator,
    ProcessHealthIndicator,
    HealthService,
  ],
})
export class HealthModule {}
