import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { WorkSignal } from './work-signal';

const EVERY_MS = 250;
const BATCH = 5_000;

/** Makes waiting deliveries ready once they are due. Several processes may run it: rows that are locked are skipped. */
@Injectable()
export class PromoteDueJob implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly queue: DeliveryQueueRepository,
    private readonly signal: WorkSignal,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'promote-due', everyMs: EVERY_MS, run: () => this.promote() });
  }

  async promote(): Promise<void> {
    const promoted = await this.queue.promoteDue(this.clock.now(), BATCH);
    if (promoted > 0) this.signal.call();
  }
}
