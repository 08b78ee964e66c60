import { Injectable } from '@nestjs/common';
import type { Counter, Gauge } from 'prom-client';
import { BriefCache } from '../../../common/async/promises';
import { Clock, SECOND } from '../../../common/clock';
import { InstallationGauges } from '../../../common/jobs/installation-gauges';
import { Metrics } from '../../../common/metrics/metrics';
import { ATTEMPT_RESULTS, type AttemptResult } from './evaluate-attempt';
import type { DispatchMeasure } from '../queue/sql/message-sweeps.sql';
import { WebhookMessagesRepository } from '../queue/webhook-messages.repository';

/** The gauges of one scrape share one statement. */
const CACHE_MS = 2 * SECOND;

/** Webhooks as Prometheus sees them. Messages and endpoints are those of the whole installation, shown by one worker. */
@Injectable()
export class DispatchMetrics {
  private readonly attempts: Counter;
  private readonly lag: Gauge;
  private readonly measure: BriefCache<DispatchMeasure>;
  private oldestReadMs = 0;

  constructor(
    metrics: Metrics,
    messages: WebhookMessagesRepository,
    private readonly gauges: InstallationGauges,
    private readonly clock: Clock,
  ) {
    const labels = { result: ATTEMPT_RESULTS };
    this.attempts = metrics.counter({ name: 'webhook_attempts_total', help: 'Attempts to send a webhook', labels });
    const lag = {
      name: 'webhook_expansion_lag_seconds',
      help: 'Age of the oldest event of which this process made webhooks, or of the open transaction that events wait for',
    };
    this.lag = metrics.gauge(lag);
    this.measure = new BriefCache(() => messages.measure(clock.now()), CACHE_MS, clock);
    this.showMessages();
  }

  count(result: AttemptResult): void {
    this.attempts.inc({ result });
  }

  /** A page of events has been read. @param times of the first event of each stream, and where the log ends for now */
  lagged(times: readonly Date[]): void {
    const nowMs = this.clock.now().getTime();
    this.oldestReadMs = times.reduce((oldest, time) => Math.max(oldest, nowMs - time.getTime()), this.oldestReadMs);
  }

  /** All endpoints have been processed. */
  expanded(): void {
    this.lag.set(this.oldestReadMs / SECOND);
    this.oldestReadMs = 0;
  }

  private showMessages(): void {
    const pending = { name: 'webhook_messages_pending', help: 'Webhooks that wait to be sent' };
    this.gauges.showOfWorkers(pending, async () => (await this.measure.get()).pending);
    const oldest = {
      name: 'webhook_oldest_due_seconds',
      help: 'How long the oldest webhook that is due has waited, without those of failing endpoints while others are sent',
    };
    this.gauges.showOfWorkers(oldest, async () => (await this.measure.get()).oldestDueSeconds);
    const endpoints = { name: 'webhook_endpoints', help: 'Webhook endpoints by state', label: 'state' };
    this.gauges.showOfWorkers(endpoints, async () => {
      const { enabled, failing, disabled } = await this.measure.get();
      return { enabled, failing, disabled };
    });
  }
}
