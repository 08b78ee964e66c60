import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR } from '../../../common/clock';
import { InstallationGauges } from '../../../common/jobs/installation-gauges';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { OutcomesRepository } from './outcomes.repository';
import { StatsCheckService } from './stats-check.service';

/** A check that takes longer is taken for one of a crashed process. */
const ABANDONED_MS = 6 * HOUR;
const MAX_LOGGED = 20;

/** Once a day, in one of the processes, compares the counters of the last complete day with the events. */
@Injectable()
export class StatsCheckJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(StatsCheckJob.name);

  constructor(
    private readonly checks: StatsCheckService,
    private readonly outcomes: OutcomesRepository,
    private readonly jobs: PeriodicJobs,
    private readonly gauges: InstallationGauges,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.registerMetric();
    this.jobs.start({ name: 'check-stats', everyMs: HOUR, exclusive: true, run: () => this.run() });
  }

  registerMetric(): void {
    const gauge = { name: 'stats_drift', help: 'Counters that differed from the events on the last day checked' };
    this.gauges.showOfWorkers(gauge, () => this.outcomes.newestDrift());
  }

  /** Checks the last complete day; does nothing when that has been done. */
  async run(): Promise<void> {
    const now = this.clock.now();
    const to = new Date(Math.floor(now.getTime() / DAY) * DAY);
    const from = new Date(to.getTime() - DAY);
    const day = from.toISOString().slice(0, 10);
    if (!(await this.outcomes.claimCheck(day, now, new Date(now.getTime() - ABANDONED_MS)))) return;
    const { compared, unsettled, drifts } = await this.checks.check({ from, to });
    await this.outcomes.finishCheck(day, drifts.length, this.clock.now());
    this.logger.log(
      `Statistics of ${day}: ${compared} counters compared, ${drifts.length} differ, ${unsettled} in motion`,
    );
    for (const drift of drifts.slice(0, MAX_LOGGED)) this.logger.error(`Statistics differ: ${JSON.stringify(drift)}`);
  }
}
