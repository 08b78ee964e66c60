import { Injectable, Logger } from '@nestjs/common';
import { Clock, SECOND } from '../../common/clock';
import { UnavailableError } from '../../common/errors/app-error';
import { Database } from '../../database/pool/database.service';
import type { ClaimedDelivery } from '../ports/delivery';
import { asSending, OutcomeSink, type RecordedOutcome } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import type { FreedDelivery } from '../queue/sql/worker-sessions.sql';
import { ClaimPlanner } from './claims/claim-plan';
import { DeliveryPipeline } from './delivery-pipeline';
import { JournalTakeover } from '../results/journal-takeover';
import { WorkerSession } from './session/worker-session';

const LOOK_EVERY_MS = SECOND / 2;
/**
 * Time for running work to end. A conversation that lasts longer is past composing and signing, and waits for the other side.
 */
const QUIET_MS = SECOND / 2;
/**
 * The same for a suspect: it is composed and signed, and what kills the worker in the minutes that a silent server might take
 * has nothing to do with it. The next one is tried meanwhile.
 */
const SILENT_MS = 150;
const LOOK_AT_TRIAL_MS = 50;
/** A suspect whose server is silent by then ends as after a time limit. */
const TRIAL_MS = 2 * SECOND;
/** Trials in a row, then as long for other mail. */
const ROUND_MS = 3 * SECOND;

/**
 * Recovers from workers that crashed: settles the results in their journals, and tries suspects, deliveries that two workers
 * crashed with, while nothing else starts in this process: a few together and, after another crash, each alone. Those that wait
 * for their servers do not delay the next. One worker at a time does so: the others continue with other mail. If the worker
 * crashes now, the suspects that it claimed last are counted (the reaper counts no other); one whose attempt ends is no suspect
 * any more.
 */
@Injectable()
export class CrashRecovery {
  private readonly logger = new Logger(CrashRecovery.name);
  private hasJournals = false;
  private nextLookMs = -Infinity;

  constructor(
    private readonly journals: JournalTakeover,
    private readonly queue: DeliveryQueueRepository,
    private readonly pipeline: DeliveryPipeline,
    private readonly planner: ClaimPlanner,
    private readonly session: WorkerSession,
    private readonly clock: Clock,
  ) {}

  /**
   * To be called before every claim, and while nothing is claimed.
   * @param beside a claim that is still under way; what it takes must not begin beside a trial
   * @throws UnavailableError
   */
  async run(beside?: Promise<void>): Promise<void> {
    if (!this.hasJournals) await this.journals.takeAll();
    this.hasJournals = true;
    const nowMs = this.clock.monotonicMs();
    // A clock that is wrong would end a suspect as too old.
    if (nowMs < this.nextLookMs || !this.clock.isReliable) return;
    this.nextLookMs = nowMs + LOOK_EVERY_MS;
    const { id } = this.session;
    if (id === undefined || !(await this.hasSuspect(id))) return;
    await beside;
    await this.tryAll();
  }

  /** Nearly always there is none at all: only if there is one are all destinations named at which nothing can start. */
  private async hasSuspect(sessionId: string): Promise<boolean> {
    if (!(await this.queue.hasSuspect(sessionId, []))) return false;
    return this.queue.hasSuspect(sessionId, this.planner.heldBack().destinations);
  }

  private async tryAll(): Promise<void> {
    await this.pipeline.isIdleWithin(QUIET_MS);
    const beginMs = this.clock.monotonicMs();
    const elapsedMs = () => this.clock.monotonicMs() - beginMs;
    const tried = new Set<string>();
    while (elapsedMs() < ROUND_MS && (await this.tryNext(tried)));
    this.nextLookMs = this.clock.monotonicMs() + Math.max(LOOK_EVERY_MS, elapsedMs());
  }

  /** False when there are no others, or the same again: they could not be tried. */
  private async tryNext(tried: Set<string>): Promise<boolean> {
    const { id } = this.session;
    const heldBack = this.planner.heldBack();
    if (id === undefined || heldBack.all || this.pipeline.isClosing) return false;
    const suspects = await this.queue.claimSuspects(id, heldBack.destinations);
    if (suspects.length === 0) return false;
    const fresh = suspects.filter(({ emailId, position }) => !tried.has(`${emailId} ${position}`));
    for (const { emailId, position, organizationId, crashes } of suspects) {
      tried.add(`${emailId} ${position}`);
      const company = suspects.length - 1;
      const msg = 'A delivery that workers died with is tried';
      this.logger.warn({ msg, emailId, position, organizationId, crashes, company });
    }
    await this.pipeline.take(suspects);
    await Promise.all(suspects.map((suspect) => this.trialOf(suspect)));
    return fresh.length > 0;
  }

  /** Resolves when the attempt is over, or waits for its server or for a slot, which it does for the rest of the trial at most. */
  private async trialOf(suspect: ClaimedDelivery): Promise<void> {
    let isOver = false;
    void this.pipeline.isOverWithin(suspect, TRIAL_MS).then((hasEnded) => {
      isOver = true;
      if (!hasEnded) this.pipeline.cutShort(suspect);
    });
    while (!isOver && !this.pipeline.hasWaited(suspect, SILENT_MS)) {
      await this.pipeline.isOverWithin(suspect, LOOK_AT_TRIAL_MS);
    }
  }
}

/** Frees the claims of workers that crashed. */
@Injectable()
export class DeadClaims {
  private readonly logger = new Logger(DeadClaims.name);

  constructor(
    private readonly database: Database,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeSink,
    private readonly clock: Clock,
  ) {}

  /**
   * Frees claims of sessions whose lease has ended; the events record that a mail may have been sent. A mail whose event cannot be
   * written is freed without it: else those of all others would never be freed.
   * @throws UnavailableError
   */
  async free(limit: number): Promise<number> {
    try {
      return await this.reap(limit, (lost, tx) => this.outcomes.record(lost, tx));
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      // It is among the first or the second half.
      if (limit > 1) return (await this.free(Math.ceil(limit / 2))) + (await this.free(Math.floor(limit / 2)));
      this.logger.error({ msg: 'Mail of lost workers is freed without an event', error });
      return this.reap(limit, () => Promise.resolve());
    }
  }

  private reap(limit: number, record: OutcomeSink['record']): Promise<number> {
    return this.database.transaction(async (tx) => {
      const freed = await this.queue.reap(limit, tx);
      const now = this.clock.now();
      await record(
        freed.flatMap((delivery) => asWorkerLost(delivery, now)),
        tx,
      );
      return freed.length;
    });
  }
}

/** Its attempt may have started; of one that took longer, that has been recorded. */
function asWorkerLost(delivery: FreedDelivery, now: Date): RecordedOutcome[] {
  const unknown = { kind: 'unknown', nextAttemptAt: now, reason: 'worker_lost' } as const;
  const lost = { ...delivery, outcome: unknown, source: 'system', occurredAt: now } as const;
  return delivery.attempt === 1 ? [asSending({ ...delivery, claimedAt: now }), lost] : [lost];
}
