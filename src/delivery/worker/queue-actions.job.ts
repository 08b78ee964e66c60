import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { OutcomeSink } from '../ports/outcome';
import { QueueActionsService } from '../queue/queue-actions.service';

const KEPT_DAYS = 30;

/** Works off what operators want done with open deliveries. Several processes may run it: they take different actions. */
@Injectable()
export class QueueActionsJob implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly actions: QueueActionsService,
    private readonly outcomes: OutcomeSink,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'queue-actions', everyMs: SECOND, run: () => this.workOff() });
    this.jobs.startRemoval({ name: 'forget-queue-actions', everyMs: 6 * HOUR, run: () => this.forget() });
  }

  workOff(): Promise<void> {
    return this.actions.workOff(this.outcomes, { signal: this.jobs.ending });
  }

  /** Returns the number of removed actions. */
  forget(): Promise<number> {
    return this.actions.removeCompletedBefore(new Date(this.clock.now().getTime() - KEPT_DAYS * DAY));
  }
}
