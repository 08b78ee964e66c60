import type { LogRequest } from '../http/access-log';
import type { Metrics } from './metrics';

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
    // What no route took would let a stranger make up labels.
    const method = line.route === undefined ? '' : line.method;
    duration.observe({ method, route: line.route ?? '', status: line.status }, line.durationMs / 1_000);
    next(line);
  };
}
