import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { Conveyor } from './conveyor.service';
import { WorkerSession } from './worker-session';

const EVERY_MS = 10 * SECOND;
/** Past the time limit of a claim's transaction, after which it is in hand or was never answered. */
const SETTLED_IN_MS = 15 * SECOND;

/**
 * Gives back claims that the database says this session holds but nobody here works on: a claim whose commit was
 * answered by a broken connection, a release that failed. The session lives, so no reaper would ever free them.
 */
@Injectable()
export class ForgottenClaims implements OnApplicationBootstrap {
  private readonly logger = new Logger(ForgottenClaims.name);

  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly queue: DeliveryQueueRepository,
    private readonly session: WorkerSession,
    private readonly conveyor: Conveyor,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'release-forgotten', everyMs: EVERY_MS, run: () => this.release() });
  }

  async release(): Promise<void> {
    const { id } = this.session;
    if (id === undefined) return;
    const before = new Date(this.clock.now().getTime() - SETTLED_IN_MS);
    const forgotten = (await this.queue.findHeld(id, before)).filter((claim) => !this.conveyor.has(claim));
    if (forgotten.length === 0) return;
    this.logger.warn(`${forgotten.length} claims that nobody works on are given back`);
    await this.queue.release(forgotten);
  }
}
