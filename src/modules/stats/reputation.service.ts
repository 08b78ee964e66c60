import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../common/clock';
import { type Reputation, REPUTATION_DAYS, reputationOf } from './reputation';
import { StatsService } from './stats.service';

const NOTHING = { accepted: 0, delivered: 0, bounced: 0, complaints: 0 };

/** What receivers are likely to think of domains, from their live mail of the last 30 days. */
@Injectable()
export class ReputationService {
  constructor(
    private readonly stats: StatsService,
    private readonly clock: Clock,
  ) {}

  /** @returns one per domain, by its id */
  async ofDomains(
    owners: readonly { readonly organizationId: string; readonly domainId: string }[],
  ): Promise<Map<string, Reputation>> {
    const since = new Date(this.clock.now().getTime() - REPUTATION_DAYS * DAY);
    const sums = await this.stats.sumLive(owners.map((owner) => ({ ...owner, since })));
    return new Map(owners.map(({ domainId }) => [domainId, reputationOf(sums.get(domainId) ?? NOTHING)]));
  }
}
