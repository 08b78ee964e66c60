import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import { Database } from '../../database/database.service';
import { HeldDestinations } from '../shaping/held-destinations.service';
import { lastMeasure, measureBloat, measureQueue, type QueueBloat, type QueueMeasure } from './sql/view-queue.sql';

const EMPTY: QueueMeasure = {
  ...{ ready: 0, waiting: 0, claimed: 0, held: 0, heldBack: 0, oldestReadySeconds: 0, workers: 0 },
  crowding: {},
};

/** How large the queue is: counted by one process at a time, for all of them. */
@Injectable()
export class QueueMeasuresRepository {
  constructor(
    private readonly database: Database,
    private readonly config: AppConfig,
    private readonly destinations: HeldDestinations,
  ) {}

  /** The last count, at most seconds old; a large queue is counted less often. */
  async last(): Promise<QueueMeasure> {
    const [last] = await this.database.run(lastMeasure());
    return !last || last.isDue ? this.measure() : last;
  }

  /** Counts. */
  async measure(): Promise<QueueMeasure> {
    const { keys } = await this.destinations.get();
    const [row] = await this.database.run(measureQueue(this.config.limits.openDeliveries, keys));
    return row ?? EMPTY;
  }

  async bloat(): Promise<QueueBloat> {
    const [row] = await this.database.run(measureBloat());
    return row ?? { deadRows: 0, bytes: 0 };
  }
}

export type { QueueBloat, QueueMeasure };
