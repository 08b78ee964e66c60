import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { InboundLimits } from './inbound-limits';
import { InboundMetrics } from './inbound-metrics';
import { InboundReception } from './inbound-reception.service';
import { InboundSmtpServer } from './inbound-smtp.server';
import { InboundUpkeep } from './inbound-upkeep.service';
import { InboundRepository } from './inbound.repository';
import { InboundService } from './inbound.service';

/** Role `inbound`: importing it starts the bounce listener with the application. */
@Module({
  imports: [AuthModule],
  providers: [
    InboundLimits,
    InboundMetrics,
    InboundReception,
    InboundRepository,
    InboundService,
    InboundSmtpServer,
    InboundUpkeep,
    PeriodicJobs,
  ],
  exports: [InboundSmtpServer],
})
export class InboundModule {}
