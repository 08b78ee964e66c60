import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, MINUTE, SECOND } from '../../../common/clock';
import { deleteInBatches } from '../../../common/jobs/delete-in-batches';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { AppConfig } from '../../../config/config';
import { ReplayWalk } from '../replay/replay-walk.service';
import { WebhookUpkeepRepository } from './webhook-upkeep.repository';

const BATCH = 2_000;

/** Worker role: walks replays, and forgets old messages, those of endpoints that are gone, and secrets that have run out. */
@Injectable()
export class WebhookUpkeep implements OnApplicationBootstrap {
  constructor(
    private readonly upkeep: WebhookUpkeepRepository,
    private readonly replays: ReplayWalk,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'replay-webhooks', everyMs: 2 * SECOND, run: () => this.replays.run() });
    this.jobs.startRemoval({ name: 'clean-up-webhooks', everyMs: 5 * MINUTE, run: () => this.cleanUp() });
  }

  /** Answers how many messages were too old: counted since they were made, or made again. */
  async cleanUp(): Promise<number> {
    const now = this.clock.now();
    await this.upkeep.forgetPreviousSecrets(now);
    while (await this.upkeep.clearRemoved(BATCH));
    const before = new Date(now.getTime() - this.config.retention.webhookDays * DAY);
    return deleteInBatches(BATCH, (limit) => this.upkeep.deleteMessagesBefore(before, limit));
  }
}
