import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '../../common/metrics/metrics';
import type { DestinationState } from '../policy/destinations/destination-bounds';
import { AttemptDispatcher, WAIT_REASONS } from './attempt-dispatcher';
import { ByteBudget } from '../compose/byte-budget';
import { DeliveryPipeline } from './delivery-pipeline';
import { SmtpTransmitter } from './attempts/smtp-transmitter';
import { WorkerSlots } from './slots/worker-slots';

const STATES: readonly DestinationState['state'][] = ['open', 'paused', 'probing'];

/** What this worker is doing right now, read when the metrics are. */
@Injectable()
export class WorkerMetrics implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly pipeline: DeliveryPipeline,
    private readonly slots: WorkerSlots,
    private readonly dispatcher: AttemptDispatcher,
    private readonly budget: ByteBudget,
    private readonly transmitter: SmtpTransmitter,
  ) {}

  onModuleInit(): void {
    const underWay = { name: 'deliveries_under_way', help: 'Claimed deliveries of this worker that are not settled' };
    this.metrics.gauge(underWay, () => this.pipeline.size);
    const connections = { name: 'smtp_connections', help: 'Outgoing SMTP connections of this worker' };
    this.metrics.gauge(connections, () => this.transmitter.openConnections);
    const destinations = { name: 'destinations', help: 'Destinations this worker shapes, by state', labels: ['state'] };
    this.metrics.gauge(destinations, () => {
      const described = this.slots.describe();
      return Object.fromEntries(STATES.map((state) => [state, described.filter((one) => one.state === state).length]));
    });
    const missing = { name: 'next_hop_missing', help: '1 while the name of the one next hop is not found' };
    this.metrics.gauge(missing, () => (this.slots.hop.fault ? 1 : 0));
    this.showSlots();
    this.showBytes();
  }

  private showSlots(): void {
    const slots = { name: 'worker_slots', help: 'Attempts that this worker may have under way', labels: ['state'] };
    this.metrics.gauge(slots, () => ({ used: this.slots.active, free: this.slots.free }));
    const waiting = {
      name: 'worker_waiting',
      help: 'Claims that hold no slot, by what they wait for',
      labels: ['reason'],
    };
    this.metrics.gauge(waiting, () => {
      const waits = this.dispatcher.waits();
      return Object.fromEntries(WAIT_REASONS.map((reason) => [reason, waits.get(reason) ?? 0]));
    });
  }

  private showBytes(): void {
    const bytes = { name: 'worker_message_bytes', help: 'Bytes of messages in memory', labels: ['state'] };
    this.metrics.gauge(bytes, () => ({
      used: this.budget.inUse,
      peak: this.budget.peak,
      limit: this.budget.limit,
    }));
  }
}
