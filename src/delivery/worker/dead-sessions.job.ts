import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { MINUTE, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { WorkerSessionsRepository } from '../queue/worker-sessions.repository';
import { Claimer } from './claimer';
import { JournalTakeover } from './journal-takeover';
import { WorkSignal } from './work-signal';
import { WorkerSession } from './worker-session';

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
