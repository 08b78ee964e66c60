import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations.service';
import { Clock, DAY, HOUR } from '../../../common/clock';
import { firstIdAt, NIL_ID } from '../../../common/ids';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { type Mode, MODES } from '../../../common/tenant';
import { AppConfig } from '../../../config/config';
import { RetentionRepository } from './retention.repository';

const BATCH = 1_000;

/**
 * Deletes bodies, headers and attachments some time after the last recipient of the email has come to its end. Walks the
 * contents that are there, tenant by tenant and oldest first: what is gone is not read again, only mail that came to its end
 * late (scheduled, deferred) is.
 */
@Injectable()
export class ContentRemovalJob implements OnApplicationBootstrap {
  constructor(
    private readonly contents: RetentionRepository,
    private readonly organizations: OrganizationsService,
    private readonly jobs: PeriodicJobs,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({ name: 'remove-contents', everyMs: 6 * HOUR, exclusive: true, run: () => this.run() });
  }

  /** Returns the number of emails whose contents were deleted. */
  async run(): Promise<number> {
    const endedBefore = new Date(this.clock.now().getTime() - this.config.retention.contentDays * DAY);
    let deleted = 0;
    for (const { id: organizationId } of await this.organizations.list()) {
      for (const mode of MODES) deleted += await this.clear({ organizationId, mode }, endedBefore);
    }
    return deleted;
  }

  private async clear(owner: { organizationId: string; mode: Mode }, endedBefore: Date): Promise<number> {
    const beforeId = firstIdAt(endedBefore);
    let [afterId, total] = [NIL_ID, 0];
    for (;;) {
      const { examined, lastId, deleted } = await this.contents.deleteContents(
        { ...owner, afterId, beforeId, endedBefore },
        BATCH,
      );
      total += deleted;
      if (examined < BATCH || lastId === null) return total;
      afterId = lastId;
    }
  }
}
