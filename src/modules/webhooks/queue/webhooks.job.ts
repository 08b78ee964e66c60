import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, MINUTE, SECOND } from '../../../common/clock';
import { deleteInBatches, PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { AppConfig } from '../../../config/config';
import { WebhookEndpointsRepository } from './webhook-endpoints.repository';
import { WebhookMessagesRepository } from './webhook-messages.repository';
import { CLAIM_MS, ENDPOINT_DISABLED } from './webhook-queue';

/** Rows of one deletion. */
const CLEAN_UP_BATCH = 2_000;

/** Removes old messages, those of removed endpoints, and secrets that are no longer valid. */
@Injectable()
export class CleanUpWebhooksJob implements OnApplicationBootstrap {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly messages: WebhookMessagesRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({
      name: 'clean-up-webhooks',
      everyMs: 5 * MINUTE,
      run: () => this.cleanUp(),
    });
  }

  /** Returns how many messages were too old, counted from when they were created or renewed. */
  async cleanUp(): Promise<number> {
    const now = this.clock.now();
    await this.endpoints.clearPreviousSecrets(now);
    while (await this.endpoints.clearRemoved(CLEAN_UP_BATCH));
    const before = new Date(now.getTime() - this.config.retention.webhookDays * DAY);
    return deleteInBatches(CLEAN_UP_BATCH, (limit) => this.messages.deleteBefore(before, limit));
  }
}

const SWEEP_EVERY_MS = 5 * SECOND;
const SWEEP_BATCH = 1_000;

/** Frees the messages of ended processes, and ends those that wait for disabled endpoints. */
@Injectable()
export class SweepMessagesJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(SweepMessagesJob.name);

  constructor(
    private readonly messages: WebhookMessagesRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'free-webhook-claims', everyMs: SWEEP_EVERY_MS, run: () => this.freeOrphanedClaims() });
    this.jobs.start({ name: 'end-disabled-webhooks', everyMs: SWEEP_EVERY_MS, run: () => this.endOfDisabled() });
  }

  /** A batch at a time: a recovery must not overload the endpoints. */
  async freeOrphanedClaims(): Promise<void> {
    const now = this.clock.now();
    const latest = new Date(now.getTime() + CLAIM_MS);
    const freed = await this.messages.freeOrphanedClaims(now, latest, SWEEP_BATCH);
    if (freed > 0) this.logger.warn(`${freed} webhooks of lost workers are sent again`);
  }

  async endOfDisabled(): Promise<void> {
    while (
      !this.jobs.ending.aborted &&
      (await this.messages.endOfDisabled(ENDPOINT_DISABLED, SWEEP_BATCH)) === SWEEP_BATCH
    );
  }
}
