import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { Database } from '../../database/database.service';
import { OutcomeSink } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import type { FreedDelivery } from '../queue/sql/worker-sessions.sql';
import { WorkSignal } from './work-signal.service';
import { WorkerSession } from './worker-session';

const PROMOTE_BATCH = 5_000;
/** With a run every few seconds at most some hundred a second: a recovery must not be a storm. */
const REAP_BATCH = 500;
const PROMOTE_EVERY_MS = 250;
const REAP_EVERY_MS = SECOND;
const BURY_EVERY_MS = MINUTE;

/** What the rounds use besides the queue. */
@Injectable()
export class HousekeepingRounds {
  constructor(
    readonly jobs: PeriodicJobs,
    readonly signal: WorkSignal,
    readonly session: WorkerSession,
  ) {}
}

/** Keeps the queue moving: due mail becomes ready, and what dead workers held is freed. */
@Injectable()
export class Housekeeper implements OnApplicationBootstrap {
  private readonly logger = new Logger(Housekeeper.name);

  constructor(
    private readonly database: Database,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeSink,
    private readonly clock: Clock,
    private readonly rounds: HousekeepingRounds,
  ) {}

  onApplicationBootstrap(): void {
    const { jobs } = this.rounds;
    jobs.start({ name: 'promote-due', everyMs: PROMOTE_EVERY_MS, run: () => this.promote() });
    jobs.start({ name: 'reap-sessions', everyMs: REAP_EVERY_MS, run: () => this.reap() });
    jobs.start({ name: 'bury-sessions', everyMs: BURY_EVERY_MS, run: () => this.queue.burySessions() });
  }

  /** Makes due deliveries ready. */
  async promote(): Promise<void> {
    const promoted = await this.queue.promoteDue(this.clock.now(), PROMOTE_BATCH);
    if (promoted > 0) this.rounds.signal.notify();
  }

  /** Frees the claims of dead sessions; the events say that a mail may have gone out unnoticed. */
  async reap(): Promise<void> {
    // Whatever cost this worker its lease (a frozen database) probably cost the others theirs: they come first with the
    // results that they have kept, else each would repeat the other's mail.
    if (this.rounds.session.lately().length > 0) return;
    const freed = await this.database.transaction(async (tx) => {
      const deliveries = await this.queue.reap(REAP_BATCH, tx);
      const now = this.clock.now();
      await this.outcomes.record(
        deliveries.map((delivery) => workerLost(delivery, now)),
        tx,
      );
      return deliveries.length;
    });
    if (freed === 0) return;
    this.logger.warn(`${freed} deliveries of lost workers are tried again`);
    this.rounds.signal.notify();
  }
}

function workerLost(delivery: FreedDelivery, now: Date) {
  const outcome = { kind: 'unknown', nextAttemptAt: now, reason: 'worker_lost' } as const;
  return { ...delivery, outcome, source: 'system' as const, occurredAt: now };
}
