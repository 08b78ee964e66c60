import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { AppConfig } from '../../config/config';
import { Claimer } from './claimer.service';
import { Conveyor } from './conveyor.service';
import { JournaledSettler } from './journaled-settler.service';
import { Lanes } from './lanes';
import { Transmitter } from './transmitter';
import { WorkSignal } from './work-signal.service';
import { WorkerSession } from './worker-session';

/** How long an idle worker waits for a notification before it looks by itself. */
const POLL_MS = SECOND;
const OUTAGE_PAUSE_MS = SECOND;

/** What the loop listens to and shuts down. */
@Injectable()
export class WorkerSurroundings {
  constructor(
    readonly signal: WorkSignal,
    readonly lanes: Lanes,
    readonly transmitter: Transmitter,
    readonly settler: JournaledSettler,
  ) {}
}

/**
 * The worker's loop.
 *
 *   stopped ──bootstrap──► running: claim while there is room, else wait for room or for work
 *                            └──shutdown──► draining: claim nothing more, finish what is under way within the time
 *                                 limit; then cut the conversations that have not written their final dot ──► stopped
 *
 * A lost lease or an absent database stops the claiming, not the loop.
 */
@Injectable()
export class DeliveryWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(DeliveryWorker.name);
  private state: 'stopped' | 'running' | 'draining' = 'stopped';
  private loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly session: WorkerSession,
    private readonly claimer: Claimer,
    private readonly conveyor: Conveyor,
    private readonly outside: WorkerSurroundings,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.state = 'running';
    this.outside.signal.start();
    this.loop = this.run();
  }

  /** Before, because the shutdown itself closes the connection pool. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.state !== 'running') return;
    this.state = 'draining';
    this.outside.signal.notify();
    await this.loop;
    await this.drain();
    await this.outside.signal.stop();
    await this.session.end().catch(() => undefined);
    this.state = 'stopped';
  }

  private async run(): Promise<void> {
    await this.outside.settler.recover();
    while (this.state === 'running') {
      try {
        if (!(await this.step())) await this.outside.signal.wait(POLL_MS);
      } catch (error) {
        this.logger.warn(`Claiming paused: ${(error as Error).message}`);
        await delay(OUTAGE_PAUSE_MS);
      }
    }
  }

  /** One claim; false when there was nothing to do. */
  private async step(): Promise<boolean> {
    const { concurrency } = this.config.delivery;
    await this.conveyor.waitForRoom(Math.ceil(concurrency / 2));
    if (this.session.id === undefined) await this.session.begin();
    const heldBack = this.outside.lanes.heldBack();
    const { id } = this.session;
    if (id === undefined || heldBack.all || this.state !== 'running') return false;
    const room = concurrency - this.conveyor.size;
    const claims = await this.claimer.claim(id, room, heldBack.destinations, this.outside.lanes.rooms());
    if (claims.length === 0) return false;
    await this.conveyor.take(claims);
    return true;
  }

  private async drain(): Promise<void> {
    const drained = this.conveyor.drained();
    const limit = new AbortController();
    const timeout = delay(this.config.delivery.drainSeconds * SECOND, 'timeout', { signal: limit.signal, ref: false });
    const ended = await Promise.race([drained, timeout.catch(() => undefined)]);
    limit.abort();
    if (ended === 'timeout') {
      this.logger.warn(`${this.conveyor.size} deliveries are cut off by the end of the drain time`);
      this.outside.transmitter.destroy();
      await drained;
    }
    await this.outside.transmitter.close();
    this.outside.settler.end();
  }
}
