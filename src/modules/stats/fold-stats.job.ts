import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { MINUTE, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { StatsService } from './stats.service';

/** Readers include appended counters that are not folded yet, so this interval only bounds how many there are. */
const EVERY_MS = 2 * SECOND;

/** Folds appended counters into their hourly rows. */
@Injectable()
export class FoldStatsJob implements OnApplicationBootstrap {
  constructor(
    private readonly stats: StatsService,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({
      name: 'fold-stats',
      everyMs: EVERY_MS,
      hasWork: this.stats.hasDeltas,
      run: () => this.stats.fold(),
    });
    const remove = () => this.stats.deleteOldRates();
    this.jobs.startRemoval({ name: 'forget-sending-rates', everyMs: 10 * MINUTE, run: remove });
  }
}
