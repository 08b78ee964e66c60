import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '../../common/metrics/metrics';
import type { DestinationState } from '../policy/destination-limiter';
import { Conveyor } from './conveyor.service';
import { Lanes } from './lanes';
import { Transmitter } from './transmitter';

const STATES: readonly DestinationState['state'][] = ['open', 'paused', 'probing'];

/** What this worker is doing right now, read when the metrics are. */
@Injectable()
export class WorkerMetrics implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly conveyor: Conveyor,
    private readonly lanes: Lanes,
    private readonly transmitter: Transmitter,
  ) {}

  onModuleInit(): void {
    const underWay = { name: 'deliveries_under_way', help: 'Claimed deliveries of this worker that are not settled' };
    this.metrics.gauge(underWay, (gauge) => gauge.set(this.conveyor.size));
    const connections = { name: 'smtp_connections', help: 'Outgoing SMTP connections of this worker' };
    this.metrics.gauge(connections, (gauge) => gauge.set(this.transmitter.openConnections));
    const destinations = { name: 'destinations', help: 'Destinations this worker shapes, by state', labels: ['state'] };
    this.metrics.gauge(destinations, (gauge) => {
      const described = this.lanes.describe();
      for (const state of STATES) gauge.set({ state }, described.filter((one) => one.state === state).length);
    });
  }
}
