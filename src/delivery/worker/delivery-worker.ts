import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { AppConfig } from '../../config/config';
import { Claimer } from './claimer';
import { DeliveryPipeline } from './delivery-pipeline';
import { DestinationSlots } from './destination-slots';
import { WorkSignal } from './work-signal';
import { WorkerSession } from './worker-session';

/** How long an idle worker waits for a notification before it checks by itself. */
const POLL_MS = SECOND;
const OUTAGE_PAUSE_MS = SECOND;

/**
 * The worker's loop.
 *
 *   stopped ──bootstrap──► running: claim while the pipeline has capacity, else wait for capacity or for work
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
    private readonly slots: DestinationSlots,
    private readonly claimer: Claimer,
    private readonly pipeline: DeliveryPipeline,
    private readonly signal: WorkSignal,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.state = 'running';
    this.signal.start();
    this.loop = this.run();
  }

  /** Before, because the shutdown itself closes the connection pool. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.state !== 'running') return;
    this.state = 'draining';
    this.signal.notify();
    await this.loop;
    await this.pipeline.close(this.config.delivery.drainSeconds * SECOND);
    await this.signal.stop();
    await this.session.end().catch(() => undefined);
    this.state = 'stopped';
  }

  private async run(): Promise<void> {
    await this.pipeline.open();
    while (this.state === 'running') {
      try {
        if (!(await this.step())) await this.signal.wait(POLL_MS);
      } catch (error) {
        this.logger.warn(`Claiming paused: ${(error as Error).message}`);
        await delay(OUTAGE_PAUSE_MS);
      }
    }
  }

  /** One claim; false when there was nothing to do. */
  private async step(): Promise<boolean> {
    const { concurrency } = this.config.delivery;
    await this.pipeline.waitForCapacity(Math.ceil(concurrency / 2));
    if (this.session.id === undefined) await this.session.begin();
    const heldBack = this.slots.heldBack();
    const { id } = this.session;
    if (id === undefined || heldBack.all || this.state !== 'running') return false;
    const limit = concurrency - this.pipeline.size;
    const claims = await this.claimer.claim(id, limit, heldBack.destinations, this.slots.claimLimits());
    if (claims.length === 0) return false;
    await this.pipeline.take(claims);
    return true;
  }
}
