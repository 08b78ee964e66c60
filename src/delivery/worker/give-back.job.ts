import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { Metrics } from '../../common/metrics/metrics';
import { AttemptDispatcher } from './attempt-dispatcher';

const EVERY_MS = SECOND;

/** Gives claims back to the queue that could not begin within a moment, for this worker or another to claim again. */
@Injectable()
export class GiveBackJob implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly dispatcher: AttemptDispatcher,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'give-back-claims', everyMs: EVERY_MS, run: () => Promise.resolve(this.giveBack()) });
  }

  giveBack(): void {
    const help = 'Claims that could not begin within a moment and went back to the queue';
    const counter = this.metrics.counter({ name: 'claims_given_back_total', help, labels: ['reason'] });
    for (const [reason, count] of this.dispatcher.giveBack()) counter.inc({ reason }, count);
  }
}
