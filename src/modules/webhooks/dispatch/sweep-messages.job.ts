import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, SECOND } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { WebhookMessagesRepository } from '../webhook-messages.repository';
import { ENDPOINT_DISABLED } from './evaluate-attempt';

const EVERY_MS = 5 * SECOND;
const BATCH = 1_000;

/** Frees the messages that dead processes had claimed, and ends those that wait for disabled endpoints. */
@Injectable()
export class SweepMessagesJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(SweepMessagesJob.name);

  constructor(
    private readonly messages: WebhookMessagesRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'free-webhook-claims', everyMs: EVERY_MS, run: () => this.freeOrphanedClaims() });
    this.jobs.start({ name: 'end-disabled-webhooks', everyMs: EVERY_MS, run: () => this.endOfDisabled() });
  }

  /** A batch at a time: a recovery must not be a storm. */
  async freeOrphanedClaims(): Promise<void> {
    const freed = await this.messages.freeOrphanedClaims(this.clock.now(), BATCH);
    if (freed > 0) this.logger.warn(`${freed} webhooks of lost workers are sent again`);
  }

  async endOfDisabled(): Promise<void> {
    while (!this.jobs.ending.aborted && (await this.messages.endOfDisabled(ENDPOINT_DISABLED, BATCH)) === BATCH);
  }
}
