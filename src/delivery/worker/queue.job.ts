import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, HOUR, MINUTE, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { DELIVERY_LIFE_MS } from '../policy/retry-schedule';
import { OutcomeSink } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { QueueActionsService } from '../queue/queue-actions.service';
import { DeliveryPipeline } from './delivery-pipeline';
import { WorkSignal } from './work-signal';
import { WorkerSession } from './worker-session';

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

const RELEASE_EVERY_MS = 10 * SECOND;
/** Past the time limit of a claim's transaction: by then the claim is in hand, or its reply is lost. */
const SETTLED_IN_MS = 15 * SECOND;
const END_EVERY_MS = 2 * MINUTE;
const END_BATCH = 500;

/** Finds deliveries that no regular claim or settlement moves on. Every worker sweeps under its own session. */
@Injectable()
export class QueueSweepJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(QueueSweepJob.name);

  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly queue: DeliveryQueueRepository,
    private readonly session: WorkerSession,
    private readonly pipeline: DeliveryPipeline,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'release-orphaned', everyMs: RELEASE_EVERY_MS, run: () => this.releaseOrphaned() });
    this.jobs.start({ name: 'end-overdue', everyMs: END_EVERY_MS, run: () => this.endOverdue() });
  }

  /**
   * Gives back claims that the database says this session holds but that are not in this process's pipeline: a claim whose
   * commit was acknowledged on a broken connection, a release that failed. The session lives, so no reaper frees them.
   */
  async releaseOrphaned(): Promise<void> {
    const { id } = this.session;
    if (id === undefined) return;
    const held = await this.queue.findHeld(id, this.ago(SETTLED_IN_MS));
    const orphaned = held.filter((claim) => !this.pipeline.has(claim));
    if (orphaned.length === 0) return;
    this.logger.warn(`${orphaned.length} claims without an attempt are given back`);
    await this.queue.release(orphaned);
  }

  /**
   * Ends deliveries whose time ran out while their destination was held back: nothing waits for ever. It claims them; the
   * preparer turns each into its ending without an attempt.
   */
  async endOverdue(): Promise<void> {
    const { id } = this.session;
    if (id === undefined) return;
    const overdue = await this.queue.claimOverdue(id, this.clock.now(), END_BATCH, this.ago(DELIVERY_LIFE_MS));
    await this.pipeline.take(overdue);
  }

  private ago(ms: number): Date {
    return new Date(this.clock.now().getTime() - ms);
  }
}

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
