import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { Metrics } from '../../common/metrics/metrics';
import type { ClaimedDelivery } from '../ports/delivery';
import { WorkerSessionsRepository } from '../queue/worker-sessions.repository';
import { AttemptDispatcher, WAIT_REASONS } from './attempt-dispatcher';
import { Claimer } from './claimer';
import { DeliveryPipeline } from './delivery-pipeline';
import { JournalTakeover } from './journal-takeover';
import { ResultCommit } from './settler';
import { WorkSignal } from './work-signal';
import { WorkerSession } from './worker-session';

const RECORD_EVERY_MS = SECOND;
/** Most attempts end sooner, and have one event. */
const LONG_MS = 2 * SECOND;
const RECORDED_AT_ONCE = 200;

/** Records of first attempts that last that they have begun; of the others that is written with their result. */
@Injectable()
export class RecordSendingJob implements OnApplicationBootstrap {
  /** When they were in hand first; with an event already: never. */
  private seenMs = new Map<ClaimedDelivery, number>();

  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly pipeline: DeliveryPipeline,
    private readonly results: ResultCommit,
    private readonly session: WorkerSession,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'record-sending', everyMs: RECORD_EVERY_MS, run: () => this.tell() });
  }

  /** @throws UnavailableError */
  async tell(): Promise<void> {
    const late = this.findLate();
    for (let from = 0; from < late.length; from += RECORDED_AT_ONCE) {
      const batch = late.slice(from, from + RECORDED_AT_ONCE);
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
const REAP_BATCH = 500;
const DELETE_EVERY_MS = MINUTE;

/**
 * Frees what dead workers held, and removes their sessions. Several processes may run it: rows that are locked are skipped.
 */
@Injectable()
export class DeadSessionsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(DeadSessionsJob.name);

  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly claimer: Claimer,
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

  /** Frees the claims of dead sessions. */
  async reap(): Promise<void> {
    // Whatever cost a worker its lease (a frozen database) probably cost the others theirs: they come first with the
    // results that they have kept, else each would repeat the other's mail.
    if (!this.session.hasWatchedLease) return;
    await this.journals.takeDying();
    const freed = await this.claimer.freeDead(REAP_BATCH);
    if (freed === 0) return;
    this.logger.warn(`${freed} deliveries of lost workers are tried again`);
    this.signal.call();
  }
}
