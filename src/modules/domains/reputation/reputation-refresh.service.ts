import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HOUR } from '../../../common/clock';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { ReputationService } from '../../stats/reputation.service';
import { DomainScoresRepository } from './domain-scores.repository';

const BATCH = 500;

/** Worker role: keeps the domains' reputation scores current, from the live mail of their last 30 days. */
@Injectable()
export class ReputationRefresh implements OnApplicationBootstrap {
  constructor(
    private readonly scores: DomainScoresRepository,
    private readonly reputation: ReputationService,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'refresh-reputation', everyMs: HOUR, run: () => this.run() });
  }

  /** One round over all domains; answers how many scores have changed. */
  async run(): Promise<number> {
    let changed = 0;
    let domains = await this.scores.findAfter(undefined, BATCH);
    while (domains.length > 0) {
      changed += await this.refresh(domains);
      domains = await this.scores.findAfter(domains.at(-1), BATCH);
    }
    return changed;
  }

  private async refresh(domains: readonly { organizationId: string; domainId: string }[]): Promise<number> {
    const reputations = await this.reputation.ofDomains(domains);
    return this.scores.write(
      domains.map((domain) => ({ ...domain, score: reputations.get(domain.domainId)?.overallScore ?? 100 })),
    );
  }
}
