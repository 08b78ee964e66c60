import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, MINUTE } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { DELIVERY_LIFE_MS } from '../policy/retry-schedule';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { Conveyor } from './conveyor.service';
import { WorkerSession } from './worker-session';

const EVERY_MS = 2 * MINUTE;
const BATCH = 500;

/** Ends deliveries whose time ran out while their destination was held back: nothing waits for ever. */
@Injectable()
export class OverdueSweeper implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly queue: DeliveryQueueRepository,
    private readonly session: WorkerSession,
    private readonly conveyor: Conveyor,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'end-overdue', everyMs: EVERY_MS, run: () => this.sweep() });
  }

  /** Claims them; the preparer turns each into its ending without an attempt. */
  async sweep(): Promise<void> {
    const { id } = this.session;
    if (id === undefined) return;
    const now = this.clock.now();
    const bornBefore = new Date(now.getTime() - DELIVERY_LIFE_MS);
    await this.conveyor.take(await this.queue.claimOverdue(id, now, BATCH, bornBefore));
  }
}
