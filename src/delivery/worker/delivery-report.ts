import { Injectable } from '@nestjs/common';
import type { Settlement } from '../ports/outcome';
import { TlsSessionCounts } from '../tls/tls-session-counts';
import { DeliveryLog } from './delivery-log';
import { DeliveryMetrics } from './delivery.metrics';
import { DeliveryTraces } from './delivery-traces';

/** Tells all who watch what has been committed: the counters, the log, and the traces. */
@Injectable()
export class DeliveryReport {
  constructor(
    private readonly metrics: DeliveryMetrics,
    private readonly log: DeliveryLog,
    private readonly traces: DeliveryTraces,
    private readonly sessions: TlsSessionCounts,
  ) {}

  /** @param outdated how many more had come too late */
  settled(taken: readonly Settlement[], outdated: number): void {
    this.metrics.settled(taken, outdated);
    this.log.settled(taken);
    this.traces.settled(taken);
    this.sessions.settled(taken);
  }
}
