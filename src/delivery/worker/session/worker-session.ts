import { hostname } from 'node:os';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Clock, SECOND } from '../../../common/clock';
import { reasonOf } from '../../../common/errors/app-error';
import { newId } from '../../../common/ids';
import { AppConfig } from '../../../config/config';
import { WorkerSessionsRepository } from '../../queue/worker-sessions.repository';

/** Part of the lease that must be left for a final dot to be written: the reply and the commit come after it. */
const SAFETY = 1 / 6;
/** After a renewal that failed: the lease is short, and it may have been the connection. */
const RETRY_MS = SECOND;

/** Does not reject; false: it failed, and is to be done again. */
type Preparation = () => Promise<boolean | void>;

/**
 * This process's lease on what it has claimed.
 *
 *   none ──begin──► held ──renew (every third of the lease)──► held
 *                     └── the lease ends without a renewal, or the database says so ──► lost ──begin──► held (a new id)
 *
 * Safety relies on the monotonic clock and counts from *before* the renewal was sent, so this side gives up before the others
 * take over, whatever happens to the wall clock or the network. A lost session's results carry outdated tokens.
 */
@Injectable()
export class WorkerSession implements OnApplicationShutdown {
  private readonly logger = new Logger(WorkerSession.name);
  private readonly leaseMs: number;
  private timer: NodeJS.Timeout | undefined;
  private safeUntilMs = -Infinity;
  /** Since when the workers together have watched the database, as far as this one can tell; never after a failed renewal. */
  private watchedSinceMs = Infinity;
  private current: string | undefined;
  private readonly whenBegun: Preparation[] = [];
  /** Of these, what is still to be done under the present session. */
  private unprepared: readonly Preparation[] = [];
  private readonly whenEnding: (() => Promise<void>)[] = [];

  constructor(
    private readonly sessions: WorkerSessionsRepository,
    private readonly clock: Clock,
    config: AppConfig,
  ) {
    this.leaseMs = config.delivery.leaseSeconds * SECOND;
  }

  /** Undefined until `begin` succeeded, and after the lease was lost. */
  get id(): string | undefined {
    return this.current !== undefined && this.holds(this.current) ? this.current : undefined;
  }

  /** True while a claim of that session cannot have been given to another worker. */
  holds(id: string): boolean {
    return this.current === id && this.clock.monotonicMs() < this.safeUntilMs;
  }

  /**
   * Whether the database has replied throughout a whole lease, to this worker or to others. Only then an ended lease means a
   * crashed worker: after an outage others may still run, and be about to commit their results.
   */
  get hasWatchedLease(): boolean {
    return this.id !== undefined && this.clock.monotonicMs() - this.watchedSinceMs >= this.leaseMs;
  }

  /** What is to be done under each new session before anything is claimed. */
  onBegin(work: Preparation): void {
    this.whenBegun.push(work);
  }

  /** What is to be done once nothing more is claimed, before the session ends. @param work does not reject */
  onEnd(work: () => Promise<void>): void {
    this.whenEnding.push(work);
  }

  /** Starts a session, or a new one after a loss. @throws UnavailableError */
  async begin(): Promise<void> {
    const id = newId();
    const startedMs = this.clock.monotonicMs();
    const watchedSeconds = await this.sessions.begin(id, hostname(), process.pid, this.leaseMs / SECOND);
    // Of a process that was suspended: its own clock said so, before a renewal did.
    if (this.current !== undefined) this.lose();
    this.current = id;
    this.extend(startedMs, watchedSeconds);
    this.unprepared = this.whenBegun;
    await this.prepare();
  }

  /** Does what is left to do before anything is claimed; false while some of it fails. */
  async prepare(): Promise<boolean> {
    const failed: Preparation[] = [];
    for (const work of this.unprepared) if ((await work()) === false) failed.push(work);
    this.unprepared = failed;
    return failed.length === 0;
  }

  /** Gives the lease up, and with it whatever is still claimed. */
  async end(): Promise<void> {
    for (const work of this.whenEnding) await work();
    const id = this.abandon();
    if (id !== undefined) await this.sessions.end(id);
  }

  /** Renews no longer: what is claimed is freed when the lease has ended by itself. */
  abandon(): string | undefined {
    clearTimeout(this.timer);
    const id = this.current;
    this.current = undefined;
    return id;
  }

  /** Also of a process that ends without `end`: the lease's connection is closed by then, and renewals would fail for ever. */
  onApplicationShutdown(): void {
    this.abandon();
  }

  /** Extends the lease; its own timer does so every third of it. A failure is logged, and tried again. */
  async renew(): Promise<void> {
    const id = this.current;
    if (id === undefined) return;
    const startedMs = this.clock.monotonicMs();
    try {
      const watchedSeconds = await this.sessions.renew(id, this.leaseMs / SECOND);
      if (this.current !== id) return;
      if (watchedSeconds === undefined) this.lose();
      else this.extend(startedMs, watchedSeconds);
    } catch (error) {
      if (this.current !== id) return;
      this.logger.warn(`The worker's lease could not be renewed: ${reasonOf(error)}`);
      this.watchedSinceMs = Infinity;
      this.renewIn(Math.min(RETRY_MS, this.leaseMs / 3));
    }
  }

  private extend(fromMs: number, watchedSeconds: number): void {
    this.safeUntilMs = fromMs + this.leaseMs * (1 - SAFETY);
    // The reply was delayed: at worst the watch counts as shorter than it is.
    this.watchedSinceMs = this.clock.monotonicMs() - watchedSeconds * SECOND;
    this.renewIn(this.leaseMs / 3);
  }

  private renewIn(delayMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.renew(), delayMs).unref();
  }

  private lose(): void {
    this.logger.warn('The worker has lost its lease; others may own its claims');
    this.current = undefined;
  }
}
