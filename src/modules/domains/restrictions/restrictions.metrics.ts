import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '../../../common/metrics/metrics';
import { AppConfig } from '../../../config/config';
import { RestrictionsService } from './restrictions.service';

/** In worker processes: how many domains are restricted. */
@Injectable()
export class RestrictionsMetrics implements OnModuleInit {
  constructor(
    private readonly restrictions: RestrictionsService,
    private readonly metrics: Metrics,
    private readonly config: AppConfig,
  ) {}

  onModuleInit(): void {
    if (!this.config.roles.has('worker')) return;
    const options = { name: 'domains_restricted', help: 'Domains that are slowed or paused', labels: ['status'] };
    // A scrape is worth more without these values than not at all while the database is away.
    this.metrics.gauge(options, async (gauge) => {
      const { slowed, paused } = await this.restrictions.count().catch(() => ({ slowed: NaN, paused: NaN }));
      gauge.set({ status: 'slowed' }, slowed);
      gauge.set({ status: 'paused' }, paused);
    });
  }
}
