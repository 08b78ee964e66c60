import { Module } from '@nestjs/common';
import { InboundMetrics } from './inbound-metrics';
import { InboundReception } from './inbound-reception.service';
import { InboundReportsModule } from './inbound-reports.module';
import { InboundSmtpServer } from './inbound-smtp.server';
import { InboundUpkeep } from './inbound-upkeep.service';

/** Role `inbound`: importing it starts the bounce listener with the application. */
@Module({
  imports: [InboundReportsModule],
  providers: [InboundMetrics, InboundReception, InboundSmtpServer, InboundUpkeep],
  exports: [InboundSmtpServer],
})
export class InboundModule {}
