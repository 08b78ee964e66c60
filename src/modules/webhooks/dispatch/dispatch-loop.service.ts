import { setTimeout as delay } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { SECOND } from '../../../common/clock';
import { reasonOf } from '../../../common/errors/app-error';
import { AppConfig } from '../../../config/config';
import { EndpointRecovery } from './attempt-settler.service';
import { ExpandEventsJob } from './expand-events.job';
import { WebhookDispatcher } from './webhook-dispatcher.service';

/** New messages of this process wake it; this is for other processes' and for retries. */
const POLL_MS = SECOND;
const OUTAGE_PAUSE_MS = SECOND;
/** Between two claims, so that many small ones become one. */
const CLAIM_GAP_MS = 20;

/**
 * Keeps the dispatcher going: no periodic job, because it is woken by new messages and free slots, and drains at shutdown.
 *
 *   stopped ──bootstrap──► running: claim; when nothing is due wait for free slots, for new messages or for a second
 *                            └──stop──► draining: claim nothing more, wait for what is under way within the time
 *                                 limit, then end it ──► stopped
 */
@Injectable()
export class DispatchLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(DispatchLoop.name);
  private state: 'stopped' | 'running' | 'draining' = 'stopped';
  private loop: Promise<void> = Promise.resolve();
  private stopping: Promise<void> | undefined;
  private isWoken = false;
  private wakeUp: () => void = () => undefined;

  constructor(
    private readonly dispatcher: WebhookDispatcher,
    private readonly expansion: ExpandEventsJob,
    private readonly recovery: EndpointRecovery,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.state = 'running';
    this.dispatcher.listen(() => this.wake());
    this.expansion.listen(() => this.wake());
    this.loop = this.run();
  }

  /** Before, because the shutdown itself closes the connection pool. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.stop();
  }

  /** Ends within the drain time, which starts now; once. */
  stop(): Promise<void> {
    this.stopping ??= this.drain();
    return this.stopping;
  }

  private async drain(): Promise<void> {
    if (this.state !== 'running') return;
    this.state = 'draining';
    const limit = setTimeout(() => this.dispatcher.stop('now'), this.config.delivery.drainSeconds * SECOND);
    this.wake();
    await this.loop;
    this.dispatcher.stop();
    await this.dispatcher.ended();
    clearTimeout(limit);
    await this.recovery.ended();
    this.state = 'stopped';
  }

  private wake(): void {
    this.isWoken = true;
    this.wakeUp();
  }

  private async run(): Promise<void> {
    while (this.state === 'running') {
      try {
        this.isWoken = false;
        const taken = await this.dispatcher.round();
        if (taken === 0 && !this.isWoken) await this.waitForWork();
        else await delay(CLAIM_GAP_MS);
      } catch (error) {
        this.logger.warn(`Claiming webhooks paused: ${reasonOf(error)}`);
        await delay(OUTAGE_PAUSE_MS);
      }
    }
  }

  private waitForWork(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, POLL_MS * (1 + Math.random() / 2));
      this.wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
