import { Injectable } from '@nestjs/common';
import { Metrics } from '../../common/metrics/metrics';
import { type Rcode, RCODES } from './dns-query';

/** What the responder counts. */
@Injectable()
export class DkimZoneMetrics {
  private readonly queries;

  constructor(metrics: Metrics) {
    this.queries = metrics.counter({
      name: 'dns_queries_total',
      help: 'Messages to the DNS responder by response code; dropped: no reply was due, or too many were under way',
      labels: { rcode: [...Object.keys(RCODES), 'dropped'] },
    });
  }

  countReply(rcode: Rcode): void {
    this.queries.inc({ rcode });
  }

  countDropped(): void {
    this.queries.inc({ rcode: 'dropped' });
  }
}
