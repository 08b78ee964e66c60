import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '../../common/metrics/metrics';
import type { DestinationState } from '../policy/destination-limiter';
import { AttemptDispatcher, type WaitReason } from './attempt-dispatcher';
import { ByteBudget } from './byte-budget';
import { DeliveryPipeline } from './delivery-pipeline';
import { SmtpTransmitter } from './smtp-transmitter';
import { WorkerSlots } from './worker-slots';

const STATES: readonly DestinationState['state'][] = ['open', 'paused', 'probing'];
const REASONS: readonly WaitReason[] = ['slots', 'destination', 'host', 'tenant', 'bytes', 'turn'];

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
    this.metrics.gauge(underWay, (gauge) => gauge.set(this.pipeline.size));
    const connections = { name: 'smtp_connections', help: 'Outgoing SMTP connections of this worker' };
    this.metrics.gauge(connections, (gauge) => gauge.set(this.transmitter.openConnections));
    const destinations = { name: 'destinations', help: 'Destinations this worker shapes, by state', labels: ['state'] };
    this.metrics.gauge(destinations, (gauge) => {
      const described = this.slots.describe();
      for (const state of STATES) gauge.set({ state }, described.filter((one) => one.state === state).length);
    });
    this.showSlots();
    this.showBytes();
  }

  private showSlots(): void {
    const slots = { name: 'worker_slots', help: 'Attempts that this worker may have under way', labels: ['state'] };
    this.metrics.gauge(slots, (gauge) => {
      gauge.set({ state: 'used' }, this.slots.active);
      gauge.set({ state: 'free' }, this.slots.free);
    });
    const waiting = {
      name: 'worker_waiting',
      help: 'Claims that hold no slot, by what they wait for',
      labels: ['reason'],
    };
    this.metrics.gauge(waiting, (gauge) => {
      const waits = this.dispatcher.waits();
      for (const reason of REASONS) gauge.set({ reason }, waits.get(reason) ?? 0);
    });
  }

  private showBytes(): void {
    const bytes = { name: 'worker_message_bytes', help: 'Bytes of messages in memory', labels: ['state'] };
    this.metrics.gauge(bytes, (gauge) => {
      gauge.set({ state: 'used' }, this.budget.inUse);
      gauge.set({ state: 'peak' }, this.budget.peak);
      gauge.set({ state: 'limit' }, this.budget.limit);
    });
  }
}
