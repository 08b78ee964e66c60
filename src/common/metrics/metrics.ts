import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type ProbeResponse, type ProbeRoutes, type ProbeServer, startProbeServer } from '../http/server/probe-server';
import type { LogRequest } from '../http/request/request';

interface MetricOptions {
  readonly name: string;
  readonly help: string;
  /** Few values each, and no personal data. */
  readonly labels?: readonly string[];
}

/** The values of each label, if known beforehand. */
type KnownValues = Readonly<Record<string, readonly string[]>>;

interface CounterOptions extends Omit<MetricOptions, 'labels'> {
  /** Series with known values start at 0, so that `rate()` sees the first increment too. */
  readonly labels?: readonly string[] | KnownValues;
}

/** The present value of a gauge: one value, or one for each value of its label; undefined when unknown. */
export type Reading = number | Readonly<Record<string, number>> | undefined;

const PREFIX = 'waybill_';

/**
 * One Prometheus registry per process. Requesting a metric again by the same name returns the same metric. Counters start at 0
 * and gauges absent: an unmeasured value is not 0.
 */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  counter({ labels = [], ...options }: CounterOptions): Counter {
    const names = isKnownValues(labels) ? Object.keys(labels) : labels;
    return this.once({ ...options, labels: names }, (settings) => {
      const counter = new Counter(settings);
      if (isKnownValues(labels)) for (const series of combinations(labels)) counter.inc(series, 0);
      return counter;
    });
  }

  /** @param read is called when the metrics are read; one that fails leaves no values, rather than old ones */
  gauge({ labels = [], ...options }: MetricOptions, read?: () => Reading | Promise<Reading>): Gauge {
    return this.once({ ...options, labels }, (settings) => {
      const collect = read && {
        collect: async function (this: Gauge) {
          show(this, await readingOf(read), labels[0]);
        },
      };
      const gauge = new Gauge({ ...settings, ...collect });
      if (labels.length === 0) gauge.remove();
      return gauge;
    });
  }

  histogram({ labels = [], ...options }: CounterOptions & { readonly buckets: readonly number[] }): Histogram {
    const names = isKnownValues(labels) ? Object.keys(labels) : labels;
    return this.once({ ...options, labels: names }, (settings) => {
      const histogram = new Histogram({ ...settings, buckets: [...options.buckets] });
      if (isKnownValues(labels)) for (const series of combinations(labels)) histogram.zero(series);
      return histogram;
    });
  }

  showBuild(build: { readonly version: string; readonly commit: string }): void {
    const labels = ['version', 'commit'];
    const help = 'Always 1; its labels say which build this is';
    this.gauge({ name: 'build_info', help, labels }).set(build, 1);
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

function isKnownValues(labels: readonly string[] | KnownValues): labels is KnownValues {
  return !Array.isArray(labels);
}

/** Every combination of the labels' values; none when a label has no known values. */
function combinations(values: KnownValues): Record<string, string>[] {
  return Object.entries(values).reduce<Record<string, string>[]>(
    (series, [label, known]) => series.flatMap((one) => known.map((value) => ({ ...one, [label]: value }))),
    [{}],
  );
}

async function readingOf(read: () => Reading | Promise<Reading>): Promise<Reading> {
  try {
    return await read();
  } catch {
    return undefined;
  }
}

function show(gauge: Gauge, reading: Reading, label = ''): void {
  // For a gauge without labels `reset` would mean 0.
  if (label === '') gauge.remove();
  else gauge.reset();
  if (typeof reading === 'number') gauge.set(reading);
  else if (reading) for (const [value, count] of Object.entries(reading)) gauge.set({ [label]: value }, count);
}

const BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;

/** 503 is what they report, to a probe, and no request that has failed. */
const PROBED = '/health';

/**
 * Counts and times every request by route pattern, method and status, then passes its line on. A series of the histogram begins with its
 * first request, which `rate()` does not see: what failed is therefore counted beside it, by classes that begin at 0.
 */
export function observeRequests(metrics: Metrics, next: LogRequest): LogRequest {
  const duration = metrics.histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the first byte of a request to the end of its response',
    labels: ['method', 'route', 'status'],
    buckets: BUCKETS_SECONDS,
  });
  const responses = metrics.counter({
    name: 'http_responses_total',
    help: 'Responses by the class of their status, without those to health checks',
    labels: { class: STATUS_CLASSES },
  });
  return (line) => {
    // Requests that no route takes would let a client make up labels.
    const method = line.route === undefined ? '' : line.method;
    duration.observe({ method, route: line.route ?? '', status: line.status }, line.durationMs / 1_000);
    if (!line.route?.startsWith(PROBED)) responses.inc({ class: `${Math.trunc(line.status / 100)}xx` });
    next(line);
  };
}

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly registry: Registry;
  /** Further paths: the process's health. */
  readonly routes?: ProbeRoutes;
}

/** Serves `GET /metrics` for Prometheus, and health in every role, on a port of their own, away from clients; all else is 404. */
export function startMetricsServer({ host, port, registry, routes }: MetricsServerOptions): Promise<ProbeServer> {
  const metrics = async (): Promise<ProbeResponse> => {
    return { status: 200, body: await registry.metrics(), contentType: registry.contentType };
  };
  return startProbeServer({ variable: 'METRICS_PORT', host, port, routes: { '/metrics': metrics, ...routes } });
}
