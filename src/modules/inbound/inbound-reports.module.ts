import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { InboundLimits } from './inbound-limits';
import { InboundRepository } from './inbound.repository';
import { InboundService } from './inbound.service';
import { PublicMailRepository } from './public-mail.repository';
import { PublicMailService } from './public-mail.service';
import { ReportErasure } from './report-erasure.service';

/** The stored reports and the return paths: what taking reports and working them off share. */
@Module({
  imports: [AuthModule],
  providers: [InboundLimits, InboundRepository, InboundService, PublicMailRepository, PublicMailService, ReportErasure],
  exports: [InboundLimits, InboundRepository, InboundService, PublicMailService, ReportErasure],
})
export class InboundReportsModule {}
