import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import pLimit from 'p-limit';
import { HOUR, MINUTE } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { DestinationsRepository } from '../shaping/destinations.repository';
import { MtaStsPolicies } from './mta-sts.service';

/** Domains in one run; the next run goes on with the next ones. */
const MAX_DOMAINS = 500;
const CONCURRENCY = 10;

/** Fetches policies anew before they expire (RFC 8461 section 3.3), as long as mail asks for them; and forgets the others. */
@Injectable()
export class RefreshMtaStsJob implements OnApplicationBootstrap {
  constructor(
    private readonly policies: MtaStsPolicies,
    private readonly destinations: DestinationsRepository,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({
      name: 'refresh-mta-sts',
      everyMs: 10 * MINUTE,
      exclusive: true,
      run: (going) => this.run(going),
    });
    this.jobs.startRemoval({
      name: 'forget-mta-sts',
      everyMs: 6 * HOUR,
      run: () => this.destinations.removePolicies(),
    });
  }

  async run(going = this.jobs.ending): Promise<void> {
    const limit = pLimit(CONCURRENCY);
    const due = await this.destinations.duePolicies(MAX_DOMAINS);
    await Promise.all(due.map((domain) => limit(() => this.refresh(domain, going))));
  }

  private async refresh(domain: string, going: AbortSignal): Promise<void> {
    if (going.aborted) return;
    await this.jobs.attempt(`The policy of ${domain}`, () => this.policies.refresh(domain));
  }
}
