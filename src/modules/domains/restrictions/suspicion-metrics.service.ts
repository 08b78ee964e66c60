import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '../../../common/metrics/metrics';
import { RestrictedDomains } from './restricted-domains.service';

@Injectable()
export class SuspicionMetrics implements OnModuleInit {
  constructor(
    private readonly restricted: RestrictedDomains,
    private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    const options = { name: 'domains_restricted', help: 'Domains that are slowed or paused', labels: ['status'] };
    // A scrape is worth more without these values than not at all while the database is away.
    this.metrics.gauge(options, async (gauge) => {
      const { slowed, paused } = await this.restricted.count().catch(() => ({ slowed: NaN, paused: NaN }));
      gauge.set({ status: 'slowed' }, slowed);
      gauge.set({ status: 'paused' }, paused);
    });
  }
}
