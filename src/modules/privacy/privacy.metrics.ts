import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { Clock, SECOND } from '../../common/clock';
import { InstallationGauges } from '../../common/jobs/installation-gauges';
import { Metrics } from '../../common/metrics/metrics';
import type { PrivacyRequestType } from './requests/privacy-request.entity';
import { PrivacyRequestsRepository } from './requests/privacy-requests.repository';

const TYPES: readonly PrivacyRequestType[] = ['article_15_access', 'article_17_erasure'];

/** Runs of this process, and how long the oldest open request of the installation has waited: the law gives a month. */
@Injectable()
export class PrivacyMetrics implements OnModuleInit {
  private readonly runs: Counter;

  constructor(
    private readonly requests: PrivacyRequestsRepository,
    private readonly gauges: InstallationGauges,
    private readonly clock: Clock,
    metrics: Metrics,
  ) {
    this.runs = metrics.counter({
      name: 'privacy_runs_total',
      help: 'Attempts at privacy requests',
      labels: { type: TYPES, result: ['ok', 'failed'] },
    });
  }

  onModuleInit(): void {
    const name = 'privacy_oldest_request_seconds';
    const help = 'How long the oldest open privacy request has waited';
    this.gauges.showOfWorkers({ name, help }, async () => {
      const oldest = await this.requests.oldestOpen();
      return oldest ? (this.clock.now().getTime() - oldest.getTime()) / SECOND : 0;
    });
  }

  countRun(type: PrivacyRequestType, result: 'ok' | 'failed'): void {
    this.runs.inc({ type, result });
  }
}
