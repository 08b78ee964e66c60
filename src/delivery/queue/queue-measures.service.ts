import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import { HeldDestinations } from '../shaping/held-destinations.service';
import { DeliveryQueueRepository, type QueueBloat, type QueueMeasure } from './delivery-queue.repository';

const EMPTY: QueueMeasure = {
  ...{ ready: 0, waiting: 0, claimed: 0, held: 0, heldBack: 0, oldestReadySeconds: 0, workers: 0 },
  crowding: {},
};

/** How large the queue is: counted by one process at a time, for all of them. */
@Injectable()
export class QueueMeasures {
  constructor(
    private readonly queue: DeliveryQueueRepository,
    private readonly config: AppConfig,
    private readonly destinations: HeldDestinations,
  ) {}

  /** The last count, at most seconds old; a large queue is counted less often. @throws UnavailableError */
  async last(): Promise<QueueMeasure> {
    const last = await this.queue.lastMeasure();
    return !last || last.isDue ? this.measure() : last;
  }

  /** Counts. @throws UnavailableError */
  async measure(): Promise<QueueMeasure> {
    const { keys } = await this.destinations.get();
    return (await this.queue.measure(this.config.limits.openDeliveries, keys)) ?? EMPTY;
  }

  /** @throws UnavailableError */
  bloat(): Promise<QueueBloat> {
    return this.queue.bloat();
  }
}
