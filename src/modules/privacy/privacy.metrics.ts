import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { Clock, SECOND } from '../../common/clock';
import { Metrics } from '../../common/metrics/metrics';
import { within } from '../../common/async/promises';
import type { PrivacyRequestType } from './requests/privacy-request.entity';
import { PrivacyRequestsRepository } from './requests/privacy-requests.repository';

const TIMEOUT_MS = 2 * SECOND;

/** Runs of this process, and how long the oldest open request of the installation has waited: the law gives a month. */
@Injectable()
export class PrivacyMetrics implements OnModuleInit {
  private readonly runs: Counter;

  constructor(
    private readonly requests: PrivacyRequestsRepository,
    private readonly metrics: Metrics,
    private readonly clock: Clock,
  ) {
    this.runs = metrics.counter({
      name: 'privacy_runs_total',
      help: 'Attempts at privacy requests',
      labels: ['type', 'result'],
    });
  }

  onModuleInit(): void {
    const name = 'privacy_oldest_request_seconds';
    const help = 'How long the oldest open privacy request has waited';
    this.metrics.gauge({ name, help }, async (gauge) => {
      // A scrape is worth more without this value than not at all while the database is away.
      const oldest = await within(this.requests.oldestOpen(), TIMEOUT_MS).catch(() => undefined);
      if (oldest === undefined) gauge.remove();
      else gauge.set(oldest ? (this.clock.now().getTime() - oldest.getTime()) / SECOND : 0);
    });
  }

  countRun(type: PrivacyRequestType, result: 'ok' | 'failed'): void {
    this.runs.inc({ type, result });
  }
}
