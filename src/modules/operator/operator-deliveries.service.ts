import { Injectable } from '@nestjs/common';
import {
  type DeliveryCursor,
  type DeliveryFilter,
  DeliveryQueueRepository,
  type ListedDelivery,
} from '../../delivery/queue/delivery-queue.repository';
import { type Waiting, waitingOf } from '../../delivery/queue/waiting';
import { HeldDestinations } from '../../delivery/shaping/held-destinations.service';
import { EmailLookupService } from '../emails/email-lookup.service';

export interface WaitingDelivery extends ListedDelivery {
  readonly waiting: Waiting;
}

/** Open deliveries of everyone, each with what it waits for, as operators see them. */
@Injectable()
export class OperatorDeliveriesService {
  constructor(
    private readonly queue: DeliveryQueueRepository,
    private readonly held: HeldDestinations,
    private readonly emails: EmailLookupService,
  ) {}

  /** One page in the order of their keys, and whether there are more. */
  async list(
    filter: DeliveryFilter,
    after: DeliveryCursor | undefined,
    limit: number,
  ): Promise<{ deliveries: WaitingDelivery[]; hasMore: boolean }> {
    const found = await this.queue.list(filter, after, limit + 1);
    const page = found.slice(0, limit);
    const [last, held] = await Promise.all([this.emails.lastDeferrals(page), this.held.get()]);
    const deliveries = page.map((delivery, index) => {
      const destination = delivery.mode === 'live' ? held.of(delivery.destination, last[index]?.mxHost) : undefined;
      return { ...delivery, waiting: waitingOf(delivery, last[index], destination) };
    });
    return { deliveries, hasMore: found.length > limit };
  }
}
