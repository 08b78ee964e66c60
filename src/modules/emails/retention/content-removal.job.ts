import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations.service';
import { Clock, DAY, HOUR } from '../../../common/clock';
import { firstIdAt, NIL_ID } from '../../../common/ids';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { type Mode, MODES } from '../../../common/tenant';
import { AppConfig } from '../../../config/config';
import { RetentionRepository } from './retention.repository';

const BATCH = 1_000;

/** How far the contents of one tenant have been looked through. */
interface Walk {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly afterId: string;
}

/**
 * Deletes bodies, headers and attachments some time after the last recipient of the email has come to its end. Walks the
 * contents that are there, a batch of each tenant in turn and the oldest first: what is gone is not read again, only mail that came to its end
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
    this.jobs.startRemoval({ name: 'remove-contents', everyMs: 6 * HOUR, run: () => this.run() });
  }

  /** Returns the number of emails whose contents were deleted. */
  async run(): Promise<number> {
    const endedBefore = new Date(this.clock.now().getTime() - this.config.retention.contentDays * DAY);
    const organizations = await this.organizations.list();
    let walks = organizations.flatMap(({ id }) =>
      MODES.map((mode): Walk => ({ organizationId: id, mode, afterId: NIL_ID })),
    );
    let deleted = 0;
    while (walks.length > 0 && !this.jobs.ending.aborted) {
      const left: Walk[] = [];
      for (const walk of walks) {
        await this.jobs.attempt(`The removal of contents of ${walk.organizationId}`, async () => {
          const page = await this.clear(walk, endedBefore);
          deleted += page.deleted;
          if (page.next !== undefined) left.push({ ...walk, afterId: page.next });
        });
      }
      walks = left;
    }
    return deleted;
  }

  /** One batch; `next` is where the next one begins, if there is one. */
  private async clear(walk: Walk, endedBefore: Date): Promise<{ deleted: number; next: string | undefined }> {
    const page = { ...walk, beforeId: firstIdAt(endedBefore), endedBefore };
    const { examined, lastId, deleted } = await this.contents.deleteContents(page, BATCH);
    return { deleted, next: examined < BATCH || lastId === null ? undefined : lastId };
  }
}
