import { Injectable } from '@nestjs/common';
import { NIL_ID } from '../../common/ids';
import { Database } from '../../database/database.service';
import {
  countQueueBy,
  type DeliveryCursor,
  type DeliveryFilter,
  type ListedDelivery,
  listDeliveries,
  QUEUE_GROUPS,
  type QueueGroup,
  type QueueShare,
} from './sql/view-queue.sql';
import { type LiveWorker, listLiveWorkers } from './sql/worker-sessions.sql';

/** What an operator sees of the engine, of every organization. Nothing of it is hot. */
@Injectable()
export class QueueViewRepository {
  constructor(private readonly database: Database) {}

  /** Live worker processes, oldest first. */
  workers(): Promise<LiveWorker[]> {
    return this.database.run(listLiveWorkers());
  }

  /** The largest shares of the queue first. */
  countBy(group: QueueGroup, limit: number): Promise<QueueShare[]> {
    return this.database.run(countQueueBy(group, limit));
  }

  /** In the order of their keys. @param after the last of the page before */
  list(filter: DeliveryFilter, after: DeliveryCursor | undefined, limit: number): Promise<ListedDelivery[]> {
    const start = { organizationId: filter.organizationId ?? NIL_ID, mode: '', emailId: NIL_ID, position: -1 } as const;
    return this.database.run(listDeliveries(filter, after ?? start, limit));
  }
}

export type { DeliveryCursor, DeliveryFilter, ListedDelivery, LiveWorker, QueueGroup, QueueShare };
export { QUEUE_GROUPS };
