import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { BatchSize } from '../../common/async/batch-size';
import { Clock, DAY, HOUR, MINUTE, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { Metrics } from '../../common/metrics/metrics';
import { ranOutOfTime } from '../../database/statements/database-errors';
import { DELIVERY_LIFE_MS } from '../policy/retry-schedule';
import type { ClaimedDelivery } from '../ports/delivery';
import { OutcomeSink } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { QueueActionsService } from '../queue/queue-actions.service';
import { WorkerSessionsRepository } from '../queue/worker-sessions.repository';
import { AttemptDispatcher, WAIT_REASONS } from './attempt-dispatcher';
import { DeadClaims } from './crash-recovery';
import { JournalTakeover } from '../results/journal-takeover';
import { DeliveryPipeline } from './delivery-pipeline';
import { ResultCommit } from '../results/result-commit';
import { WorkSignal } from './session/work-signal';
import { WorkerSession } from './session/worker-session';

const EVERY_MS = 250;
const BATCH = { most: 5_000, least: 100, tookTooLong: ranOutOfTime };

/** Makes waiting deliveries ready once they are due. Several processes may run it: rows that are locked are skipped. */
@Injectable()
export class PromoteDueJob implements OnApplicationBootstrap {
  private readonly batch = new BatchSize(BATCH);

  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly queue: DeliveryQueueRepository,
    private readonly signal: WorkSignal,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'promote-due', everyMs: EVERY_MS, hasWork: this.queue.hasDue, run: () => this.promote() });
  }

  async promote(): Promise<void> {
    const promoted = await this.batch.run((size) => this.queue.promoteDue(this.clock.now(), size));
    if (promoted > 0) this.signal.call();
  }
}

const RELEASE_EVERY_MS = 10 * SECOND;
/** Beyond the time limit of a claim's transaction: by then the worker holds the claim, or its reply is lost. */
const SETTLED_IN_MS = 15 * SECOND;
const END_EVERY_MS = 2 * MINUTE;
const END_BATCH = 500;
/** A batch takes a second. */
const END_WITHIN_MS = 10 * SECOND;

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
   * Gives back claims that this session holds in the database but not in this process's pipeline: a claim whose commit was
   * acknowledged on a broken connection, a release that failed. The session is active, so no reaper frees them.
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
    for (;;) {
      const { id } = this.session;
      if (id === undefined || this.pipeline.isClosing) return;
      const overdue = await this.queue.claimOverdue(id, this.clock.now(), END_BATCH, this.ago(DELIVERY_LIFE_MS));
      await this.pipeline.take(overdue);
      const last = overdue.at(-1);
      // A batch at a time; what cannot be ended now is left for the next run.
      if (overdue.length < END_BATCH || !last || !(await this.pipeline.isSettledWithin(last, END_WITHIN_MS))) return;
    }
  }

  private ago(ms: number): Date {
    return new Date(this.clock.now().getTime() - ms);
  }
}

const KEPT_DAYS = 30;

/** Executes operators' actions on open deliveries. Several processes may run it: they take different actions. */
@Injectable()
export class QueueActionsJob implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly actions: QueueActionsService,
    private readonly outcomes: OutcomeSink,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({
      name: 'queue-actions',
      everyMs: SECOND,
      hasWork: this.actions.hasWork,
      run: () => this.workOff(),
    });
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

const RECORD_EVERY_MS = SECOND;
/** Most attempts end sooner, and have one event. */
const LONG_MS = 2 * SECOND;
const RECORDED_AT_ONCE = 200;

/**
 * Records of first attempts that last that they have begun; of the others that is written with their result. That of an attempt
 * which is over waits for its commit: recorded apart, it would lock its email against that commit and write it twice, and a busy
 * worker with 100 conversations has many of them (a fifth of all mail, measured at 70 mails a second).
 */
@Injectable()
export class RecordSendingJob implements OnApplicationBootstrap {
  /** When the worker first held them; with an event already: never. */
  private seenMs = new Map<ClaimedDelivery, number>();

  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly pipeline: DeliveryPipeline,
    private readonly results: ResultCommit,
    private readonly session: WorkerSession,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'record-sending', everyMs: RECORD_EVERY_MS, run: () => this.recordLate() });
  }

  /** @throws UnavailableError */
  async recordLate(): Promise<void> {
    const late = this.findLate();
    for (let from = 0; from < late.length; from += RECORDED_AT_ONCE) {
      const batch = late.slice(from, from + RECORDED_AT_ONCE).filter((claim) => !this.pipeline.isOver(claim));
      if (batch.length === 0) continue;
      await this.results.begin(batch);
      for (const claim of batch) this.seenMs.set(claim, Infinity);
    }
  }

  /** Those that have been here for so long and have no event yet. */
  private findLate(): ClaimedDelivery[] {
    const nowMs = this.clock.monotonicMs();
    const first = this.pipeline.claims().filter(({ attempt }) => attempt === 1);
    this.seenMs = new Map(first.map((claim) => [claim, this.seenMs.get(claim) ?? nowMs]));
    const late = first.filter((claim) => nowMs - (this.seenMs.get(claim) ?? nowMs) >= LONG_MS);
    return late.filter(({ sessionId }) => this.session.holds(sessionId));
  }
}

const GIVE_BACK_EVERY_MS = SECOND;

/**
 * Returns to the queue claims that could not start soon, for any worker to claim again, and makes room for tenants that wait
 * because of others' silent servers.
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
    this.jobs.start({
      name: 'give-back-claims',
      everyMs: GIVE_BACK_EVERY_MS,
      run: () => Promise.resolve(this.giveBack()),
    });
  }

  giveBack(): void {
    this.cutShort.inc(this.dispatcher.makeRoom());
    for (const [reason, count] of this.dispatcher.giveBack()) this.givenBack.inc({ reason }, count);
  }
}

const REAP_EVERY_MS = SECOND;
/** With a run every second at most some hundred a second: a recovery must not be a storm. */
const REAP_BATCH = { most: 500, least: 25, tookTooLong: ranOutOfTime };
const DELETE_EVERY_MS = MINUTE;

/** Frees the claims of ended workers, and removes their sessions. Several processes may run it: locked rows are skipped. */
@Injectable()
export class DeadSessionsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(DeadSessionsJob.name);
  private readonly batch = new BatchSize(REAP_BATCH);

  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly claims: DeadClaims,
    private readonly journals: JournalTakeover,
    private readonly sessions: WorkerSessionsRepository,
    private readonly session: WorkerSession,
    private readonly signal: WorkSignal,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'reap-sessions', everyMs: REAP_EVERY_MS, run: () => this.reap() });
    const run = () => this.sessions.deleteDead();
    this.jobs.start({ name: 'delete-dead-sessions', everyMs: DELETE_EVERY_MS, run });
  }

  /** Frees the claims of ended sessions. */
  async reap(): Promise<void> {
    // Whatever cost a worker its lease (a frozen database) probably cost the others theirs: they come first with the
    // results that they have kept, else each would repeat the other's mail.
    if (!this.session.hasWatchedLease) return;
    await this.journals.takeDying();
    const freed = await this.batch.run((size) => this.claims.free(size));
    if (freed === 0) return;
    this.logger.warn(`${freed} deliveries of lost workers are tried again`);
    this.signal.call();
  }
}
