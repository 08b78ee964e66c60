import { Injectable } from '@nestjs/common';
import type { Counter, Gauge } from 'prom-client';
import { BriefCache, within } from '../../../common/async/promises';
import { Clock, SECOND } from '../../../common/clock';
import { Metrics } from '../../../common/metrics/metrics';
import type { DispatchMeasure } from '../sql/measure-dispatch.sql';
import { WebhookMessagesRepository } from '../webhook-messages.repository';
import type { AttemptResult } from './evaluate-attempt';

/** The gauges of one scrape share one statement. */
const CACHE_MS = 2 * SECOND;
/** A database that hangs must not cost the scrape the other metrics. */
const TIMEOUT_MS = 2 * SECOND;
const STATES = ['enabled', 'failing', 'disabled'] as const;

/**
 * Webhooks as Prometheus sees them. The gauges of messages and endpoints describe the whole installation: take `max`, not
 * `sum`; a measure that fails leaves no values rather than old ones.
 */
@Injectable()
export class DispatchMetrics {
  private readonly attempts: Counter;
  private readonly lag: Gauge;
  private readonly measure: BriefCache<DispatchMeasure | undefined>;
  private oldestReadMs = 0;

  constructor(
    private readonly metrics: Metrics,
    private readonly messages: WebhookMessagesRepository,
    private readonly clock: Clock,
  ) {
    const attempts = { name: 'webhook_attempts_total', help: 'Attempts to send a webhook', labels: ['result'] };
    this.attempts = metrics.counter(attempts);
    const lag = { name: 'webhook_expansion_lag_seconds', help: 'Age of the oldest event when it became webhooks' };
    this.lag = metrics.gauge(lag);
    this.measure = new BriefCache(() => this.measured(), CACHE_MS, clock);
    this.show('webhook_messages_pending', 'Webhooks that wait to be sent', ({ pending }) => pending);
    this.show(
      'webhook_oldest_due_seconds',
      'How long the oldest webhook that is due has waited',
      (measure) => measure.oldestDueSeconds,
    );
    this.showEndpoints();
  }

  count(result: AttemptResult): void {
    this.attempts.inc({ result });
  }

  /** A page of events has become messages. @param times of the first event of each stream */
  lagged(times: readonly Date[]): void {
    const nowMs = this.clock.now().getTime();
    this.oldestReadMs = times.reduce((oldest, time) => Math.max(oldest, nowMs - time.getTime()), this.oldestReadMs);
  }

  /** All endpoints have been gone through. */
  expanded(): void {
    this.lag.set(this.oldestReadMs / SECOND);
    this.oldestReadMs = 0;
  }

  private show(name: string, help: string, valueOf: (measure: DispatchMeasure) => number): void {
    this.metrics.gauge({ name, help }, async (gauge) => {
      const measure = await this.measure.get();
      if (measure) gauge.set(valueOf(measure));
      else gauge.remove();
    });
  }

  private showEndpoints(): void {
    const options = { name: 'webhook_endpoints', help: 'Webhook endpoints by state', labels: ['state'] };
    this.metrics.gauge(options, async (gauge) => {
      const measure = await this.measure.get();
      gauge.reset();
      if (measure) for (const state of STATES) gauge.set({ state }, measure[state]);
    });
  }

  private measured(): Promise<DispatchMeasure | undefined> {
    return within(this.messages.measure(this.clock.now()), TIMEOUT_MS).catch(() => undefined);
  }
}
