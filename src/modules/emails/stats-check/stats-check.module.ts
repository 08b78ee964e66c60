import { Module } from '@nestjs/common';
import { AuthModule } from '../../../auth/auth.module';
import { StatsModule } from '../../stats/stats.module';
import { StatRecountService } from './stat-recount.service';
import { StatsCheckService } from './stats-check.service';
import { StatsRecountRepository } from './stats-recount.repository';

/** The comparison of counters with events, for the job and the command line. */
@Module({
  imports: [AuthModule, StatsModule],
  providers: [StatsRecountRepository, StatRecountService, StatsCheckService],
  exports: [StatsRecountRepository, StatsCheckService],
})
export class StatsCheckModule {}
