import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InstallationGauges } from '../../../common/jobs/installation-gauges';
import { RestrictionsService } from './restrictions.service';

/** How many domains are restricted, shown by a worker. */
@Injectable()
export class RestrictionsMetrics implements OnModuleInit {
  constructor(
    private readonly restrictions: RestrictionsService,
    private readonly gauges: InstallationGauges,
  ) {}

  onModuleInit(): void {
    const gauge = { name: 'domains_restricted', help: 'Domains that are slowed or paused', label: 'status' };
    this.gauges.showOfWorkers(gauge, async () => {
      const { slowed, paused } = await this.restrictions.count();
      return { slowed, paused };
    });
  }
}
