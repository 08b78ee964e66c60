import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { Metrics } from '../../../common/metrics/metrics';
import { DueDomainsRepository } from './due-domains.repository';

@Injectable()
export class RecheckMetrics implements OnModuleInit {
  constructor(
    private readonly due: DueDomainsRepository,
    private readonly metrics: Metrics,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    const options = { name: 'domains_due', help: 'Domains that wait for a look at their DNS records' };
    // A scrape is worth more without this one value than not at all while the database is away.
    this.metrics.gauge(options, async (gauge) => gauge.set(await this.due.count(this.clock.now()).catch(() => NaN)));
  }
}
