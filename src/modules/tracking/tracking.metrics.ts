import { Injectable } from '@nestjs/common';
import { Metrics } from '../../common/metrics/metrics';
import type { HitKind, HitResult } from './hit-history';

/** What a fetch of a pixel or a link came to, in the metrics. */
export type CountedResult = HitResult | 'repeated' | 'refused' | 'dropped';

const KINDS: readonly HitKind[] = ['opened', 'clicked'];
const RESULTS: readonly CountedResult[] = ['recorded', 'automated', 'gone', 'repeated', 'refused', 'dropped'];

@Injectable()
export class TrackingMetrics {
  private readonly hits;

  constructor(private readonly metrics: Metrics) {
    this.hits = metrics.counter({
      name: 'tracking_hits_total',
      help: 'Fetches of tracking pixels and links; gone: the email is no longer there; refused: the token is none of ours; dropped: the queue was full or the database away',
      labels: { kind: KINDS, result: RESULTS },
    });
  }

  count(kind: HitKind, result: CountedResult): void {
    this.hits.inc({ kind, result });
  }

  showWaiting(depth: () => number): void {
    this.metrics.gauge({ name: 'tracking_hits_waiting', help: 'Opens and clicks that are not written yet' }, () =>
      depth(),
    );
  }
}
