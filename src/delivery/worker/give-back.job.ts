import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { Metrics } from '../../common/metrics/metrics';
import { AttemptDispatcher, WAIT_REASONS } from './attempt-dispatcher';

const EVERY_MS = SECOND;

/**
 * Gives claims back to the queue that could not begin within a moment, for this worker or another to claim again, and makes
 * room for tenants that wait because of others' silent servers.
 */
@Injectable()
export class GiveBackJob implements OnApplicationBootstrap {
  private readonly cutShort;
  private readonly givenBack;

  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly dispatcher: AttemptDispatcher,
    metrics: Metrics,
  ) {
    this.cutShort = metrics.counter({
      name: 'attempts_cut_short_total',
      help: 'Attempts at silent servers that were ended because tenants with less waited',
    });
    this.givenBack = metrics.counter({
      name: 'claims_given_back_total',
      help: 'Claims that could not begin within a moment and went back to the queue',
      labels: { reason: WAIT_REASONS },
    });
  }

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'give-back-claims', everyMs: EVERY_MS, run: () => Promise.resolve(this.giveBack()) });
  }

  giveBack(): void {
    this.cutShort.inc(this.dispatcher.makeRoom());
    for (const [reason, count] of this.dispatcher.giveBack()) this.givenBack.inc({ reason }, count);
  }
}
