import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, MINUTE } from '../../common/clock';
import { deleteInBatches } from '../../common/jobs/delete-in-batches';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { AppConfig } from '../../config/config';
import { WebhookEndpointsRepository } from './webhook-endpoints.repository';
import { WebhookMessagesRepository } from './webhook-messages.repository';

const BATCH = 2_000;

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
    while (await this.endpoints.clearRemoved(BATCH));
    const before = new Date(now.getTime() - this.config.retention.webhookDays * DAY);
    return deleteInBatches(BATCH, (limit) => this.messages.deleteBefore(before, limit));
  }
}
