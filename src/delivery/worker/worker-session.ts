import { hostname } from 'node:os';
import { Injectable, Logger } from '@nestjs/common';
import { Clock, SECOND } from '../../common/clock';
import { newId } from '../../common/ids';
import { AppConfig } from '../../config/config';
import { WorkerSessionsRepository } from '../queue/worker-sessions.repository';

/** Part of the lease that must be left for a final dot to be written: the reply and the commit come after it. */
const SAFETY = 1 / 6;
/** Results held back by an outage are committed within this time after it. */
const SETTLE_MS = 30 * SECOND;

/**
 * This process's lease on what it has claimed.
 *
 *   none ──begin──► held ──renew (every third of the lease)──► held
 *                     └── the lease ends without a renewal, or the database says so ──► lost ──begin──► held (a new id)
 *
 * Safety goes by the monotonic clock and counts from *before* the renewal was sent, so this side gives up before the
 * others take over, whatever the wall clock or the network do. A lost session's results carry outdated tokens.
 */
@Injectable()
export class WorkerSession {
  private readonly logger = new Logger(WorkerSession.name);
  private readonly leaseMs: number;
  private timer: NodeJS.Timeout | undefined;
  private safeUntilMs = -Infinity;
  private current: string | undefined;
  private lost: { readonly id: string; readonly atMs: number }[] = [];

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

  /** True while a claim of that session cannot have been given to anyone else. */
  holds(id: string): boolean {
    return this.current === id && this.clock.monotonicMs() < this.safeUntilMs;
  }

  /**
   * Sessions that this process lost a short while ago: after an outage of the database results are about to be committed,
   * here and elsewhere.
   */
  lately(): string[] {
    const since = this.clock.monotonicMs() - SETTLE_MS;
    const lost = this.lost.filter(({ atMs }) => atMs > since).map(({ id }) => id);
    return this.current === undefined || this.holds(this.current) ? lost : [...lost, this.current];
  }

  /** Begins a session, or a new one after a loss. @throws UnavailableError */
  async begin(): Promise<void> {
    const id = newId();
    const startedMs = this.clock.monotonicMs();
    await this.sessions.begin(id, hostname(), process.pid, this.leaseMs / SECOND);
    this.remember(startedMs);
    this.current = id;
    this.extend(startedMs);
    this.timer ??= setInterval(() => void this.renew(), this.leaseMs / 3).unref();
  }

  /** Gives the lease up; whatever is still claimed is freed by the next reaper. */
  async end(): Promise<void> {
    clearInterval(this.timer);
    this.timer = undefined;
    const id = this.current;
    this.current = undefined;
    if (id !== undefined) await this.sessions.end(id);
  }

  private async renew(): Promise<void> {
    const id = this.current;
    if (id === undefined) return;
    const startedMs = this.clock.monotonicMs();
    try {
      const renewed = await this.sessions.renew(id, this.leaseMs / SECOND);
      if (this.current !== id) return;
      if (renewed) this.extend(startedMs);
      else this.lose();
    } catch (error) {
      this.logger.warn(`The worker's lease could not be renewed: ${(error as Error).message}`);
    }
  }

  private extend(fromMs: number): void {
    this.safeUntilMs = fromMs + this.leaseMs * (1 - SAFETY);
  }

  private lose(): void {
    this.logger.warn('The worker has lost its lease; others may own its claims');
    this.remember(this.clock.monotonicMs());
    this.current = undefined;
  }

  private remember(atMs: number): void {
    if (this.current === undefined) return;
    this.lost = [...this.lost.slice(-9), { id: this.current, atMs }];
  }
}
