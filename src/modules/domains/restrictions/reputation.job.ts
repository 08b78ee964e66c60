import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HOUR } from '../../../common/clock';
import { forEachPage } from '../../../common/async/promises';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { type DomainOwner, StatsService } from '../../stats/stats.service';
import { RestrictionsRepository } from './restrictions.repository';

const BATCH = 500;

/** Keeps the domains' reputation scores current, from the live mail of their last 30 days. */
@Injectable()
export class ReputationJob implements OnApplicationBootstrap {
  constructor(
    private readonly domains: RestrictionsRepository,
    private readonly stats: StatsService,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'refresh-reputation', everyMs: HOUR, exclusive: true, run: () => this.run() });
  }

  /** One round over all domains; returns how many scores have changed. */
  async run(): Promise<number> {
    let changed = 0;
    await forEachPage(
      (after: DomainOwner | undefined) => this.domains.findKeys(after, BATCH),
      async (page) => {
        changed += await this.evaluate(page);
      },
    );
    return changed;
  }

  private async evaluate(domains: readonly DomainOwner[]): Promise<number> {
    const reputations = await this.stats.reputationsOf(domains);
    return this.domains.writeScores(
      domains.map((domain) => ({ ...domain, score: reputations.get(domain.domainId)?.overallScore ?? 100 })),
    );
  }
}
