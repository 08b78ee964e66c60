import { collectDefaultMetrics, type Gauge, type Registry } from 'prom-client';

/** Gauges of prom-client whose names end as those of counters do; the same without `_total`, by type, are kept. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/**
 * The event loop is looked at so often, and its lag is at least this. The default, 10, takes 5 ms of CPU a second in a process that
 * has nothing to do; 20 takes 3.
 */
const LAG_PRECISION_MS = 20;

/** Reads that are less than this apart show the same window of the lag. */
const LAG_WINDOW_MS = 1_000;

/** Adds memory, event loop and garbage collection of this process, under the usual names of Node.js dashboards. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  keepWindowsOfLag(registry);
}

/**
 * prom-client begins a new window at each read, and a window without a measurement has a mean of NaN and a minimum of 292 years.
 * Two servers that scrape the same process read it at almost the same time.
 */
function keepWindowsOfLag(registry: Registry): void {
  const gauges = registry.getMetricsAsArray().filter(({ name }) => name.startsWith('nodejs_eventloop_lag_'));
  for (const { name } of gauges) (registry.getSingleMetric(name) as Gauge).remove();
  // This gauge sets the others as well.
  const lag = registry.getSingleMetric('nodejs_eventloop_lag_seconds') as Gauge & { collect(): void };
  const endWindow = lag.collect.bind(lag);
  let begun = performance.now();
  lag.collect = () => {
    if (performance.now() - begun < LAG_WINDOW_MS) return;
    endWindow();
    begun = performance.now();
  };
}
