import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '../../common/metrics/metrics';
import type { DestinationState } from '../policy/destination-limiter';
import { DeliveryPipeline } from './delivery-pipeline';
import { DestinationSlots } from './destination-slots';
import { SmtpTransmitter } from './smtp-transmitter';

const STATES: readonly DestinationState['state'][] = ['open', 'paused', 'probing'];

/** What this worker is doing right now, read when the metrics are. */
@Injectable()
export class WorkerMetrics implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly pipeline: DeliveryPipeline,
    private readonly slots: DestinationSlots,
    private readonly transmitter: SmtpTransmitter,
  ) {}

  onModuleInit(): void {
    const underWay = { name: 'deliveries_under_way', help: 'Claimed deliveries of this worker that are not settled' };
    this.metrics.gauge(underWay, (gauge) => gauge.set(this.pipeline.size));
    const connections = { name: 'smtp_connections', help: 'Outgoing SMTP connections of this worker' };
    this.metrics.gauge(connections, (gauge) => gauge.set(this.transmitter.openConnections));
    const destinations = { name: 'destinations', help: 'Destinations this worker shapes, by state', labels: ['state'] };
    this.metrics.gauge(destinations, (gauge) => {
      const described = this.slots.describe();
      for (const state of STATES) gauge.set({ state }, described.filter((one) => one.state === state).length);
    });
  }
}
