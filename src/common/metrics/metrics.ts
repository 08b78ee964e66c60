import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { LogRequest } from '../http/request';

interface MetricOptions {
  readonly name: string;
  readonly help: string;
  /** Few values each, and no personal data. */
  readonly labels?: readonly string[];
}

const PREFIX = 'waybill_';

/** One Prometheus registry per process. Requesting a metric again by the same name returns the same metric. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  counter(options: MetricOptions): Counter {
    return this.once(options, (settings) => new Counter(settings));
  }

  /** @param collect is called when the metrics are read, to set the current value. */
  gauge(options: MetricOptions, collect?: (gauge: Gauge) => void | Promise<void>): Gauge {
    return this.once(options, (settings) => {
      return new Gauge({
        ...settings,
        ...(collect && {
          collect: function (this: Gauge) {
            return collect(this);
          },
        }),
      });
    });
  }

  histogram(options: MetricOptions & { readonly buckets: number[] }): Histogram {
    return this.once(options, (settings) => new Histogram({ ...settings, buckets: options.buckets }));
  }

  /** Memory, event loop, garbage collection of this process. */
  collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.registry, prefix: PREFIX });
  }

  private once<T>({ name, help, labels = [] }: MetricOptions, create: (settings: MetricSettings) => T): T {
    const full = PREFIX + name;
    const known = this.registry.getSingleMetric(full);
    if (known) return known as T;
    return create({ name: full, help, labelNames: [...labels], registers: [this.registry] });
  }
}

interface MetricSettings {
  name: string;
  help: string;
  labelNames: string[];
  registers: Registry[];
}

const BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Counts and times every request by route pattern, method and status, then passes its line on. */
export function observeRequests(metrics: Metrics, next: LogRequest): LogRequest {
  const duration = metrics.histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the first byte of a request to the end of its response',
    labels: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
  });
  return (line) => {
    // Requests that no route takes would let a client make up labels.
    const method = line.route === undefined ? '' : line.method;
    duration.observe({ method, route: line.route ?? '', status: line.status }, line.durationMs / 1_000);
    next(line);
  };
}
