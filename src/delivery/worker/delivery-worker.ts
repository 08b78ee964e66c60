import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { reasonOf } from '../../common/errors/app-error';
import { AppConfig } from '../../config/config';
import { Claimer } from './claims/claimer';
import { CrashRecovery } from './crash-recovery';
import { DeliveryPipeline } from './delivery-pipeline';
import { WorkSignal } from './session/work-signal';
import { WorkerSession } from './session/worker-session';

/** How long an idle worker waits for a notification before it checks by itself. */
const POLL_MS = SECOND;
const OUTAGE_PAUSE_MS = SECOND;
/** Deliveries that wait, are under way or wait for their commit, for each slot: little as these weigh, they are bounded. */
const MOST_PER_SLOT = 8;
/** Organizations that are served beside a claim for others at a time. */
const MOST_CALLERS = 32;
/** Time for a session's last statement, as the database may be unavailable. */
const END_SESSION_MS = 2 * SECOND;

/**
 * The worker's loop.
 *
 *   stopped ──bootstrap──► running: claim as long as anything can begin, else wait for room or for work
 *                            └──stop──► draining: claim nothing more, give back what has not begun, finish the rest within
 *                                 the time limit; then cut the conversations that have not written their final dot ──► stopped
 *
 * Meanwhile new mail of tenants with few claims is claimed beside the loop.
 *
 * A lost lease or an unavailable database stops the claiming, not the loop.
 */
@Injectable()
export class DeliveryWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(DeliveryWorker.name);
  private readonly ending = new AbortController();
  private loop: Promise<void> | undefined;
  /** The loop is within a claim, and loads what it has claimed. */
  private isClaiming = false;
  private newcomers: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly session: WorkerSession,
    private readonly claimer: Claimer,
    private readonly recovery: CrashRecovery,
    private readonly pipeline: DeliveryPipeline,
    private readonly signal: WorkSignal,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.signal.start(() => this.serveNewcomers());
    this.loop = this.run();
  }

  /** Before, because the shutdown itself closes the connection pool. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.stop();
  }

  /** Ends within the drain time and some seconds, whatever the other side and the database do; once. */
  stop(): Promise<void> {
    this.stopping ??= this.loop ? this.drain(this.loop) : Promise.resolve();
    return this.stopping;
  }

  private async drain(loop: Promise<void>): Promise<void> {
    const drainMs = this.config.delivery.drainSeconds * SECOND;
    const limit = delay(drainMs, undefined, { ref: false });
    this.ending.abort();
    this.signal.leave();
    this.signal.notify();
    // The loop may wait for the database; what it still claims is given back by the pipeline.
    const isDone = await this.pipeline.close(drainMs);
    const ended = this.endSession(loop, isDone);
    await Promise.race([ended, Promise.all([limit, delay(END_SESSION_MS, undefined, { ref: false })])]);
  }

  private async endSession(loop: Promise<void>, isDone: boolean): Promise<void> {
    await loop;
    await this.newcomers;
    await this.signal.stop();
    // What is not committed must stay ours until the journal is read, or the lease ends.
    if (!isDone) this.session.abandon();
    await this.session
      .end()
      .catch((error: Error) => this.logger.warn(`The lease runs out by itself: ${reasonOf(error)}`));
  }

  private async run(): Promise<void> {
    const { signal } = this.ending;
    while (!signal.aborted) {
      try {
        if (!(await this.step())) await this.signal.wait(POLL_MS);
      } catch (error) {
        this.logger.warn(`Claiming paused: ${reasonOf(error)}`);
        await delay(OUTAGE_PAUSE_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** While the loop claims for others, and loads what it has claimed: beside a deep queue that was half of such a mail's time. */
  private serveNewcomers(): void {
    if (!this.isClaiming || this.newcomers) return;
    this.newcomers = this.claimForNewcomers()
      .catch((error: Error) => this.logger.warn(`New mail waits for the next claim: ${reasonOf(error)}`))
      .finally(() => (this.newcomers = undefined));
  }

  private async claimForNewcomers(): Promise<void> {
    const { id } = this.session;
    while (id !== undefined && this.mayClaimBeside) {
      const called = this.signal.takeCallsOf((caller) => this.claimer.isNewcomer(caller), MOST_CALLERS);
      if (!called.organizationIds?.size) return;
      const { claims, mayBeMore } = await this.claimer.claimOnlyFor(id, [...called.organizationIds]);
      if (mayBeMore) this.signal.keep(called);
      if (claims.length > 0) await this.pipeline.take(claims);
      if (mayBeMore) return;
    }
  }

  /** Never before what comes first under a new session, nor beside the trial of a suspect. */
  private get mayClaimBeside(): boolean {
    return this.isClaiming && !this.isFull && !this.ending.signal.aborted;
  }

  private get isFull(): boolean {
    return this.pipeline.size >= this.config.delivery.concurrency * MOST_PER_SLOT;
  }

  /** What comes before a claim, and one claim; false when there was nothing to do. */
  private async step(): Promise<boolean> {
    if (this.session.id === undefined) await this.session.begin();
    if (!(await this.session.prepare())) return false;
    await this.recovery.run(this.newcomers);
    const { id } = this.session;
    if (id === undefined || this.ending.signal.aborted) return false;
    this.isClaiming = true;
    return this.claim(id).finally(() => (this.isClaiming = false));
  }

  private async claim(id: string): Promise<boolean> {
    const { isFull } = this;
    const called = this.signal.takeCalled();
    const claims = isFull ? [] : await this.claimer.claimNext(id, called);
    if (claims.length === 0 && (isFull || !this.claimer.hasRoom)) this.signal.passOn(called);
    if (claims.length === 0) return false;
    await this.pipeline.take(claims);
    return true;
  }
}
