import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, type Repository } from 'typeorm';
import type { Transaction } from '../../database/transaction';
import type { WebhookEndpoint } from './webhook-endpoint.entity';
import { WebhookMessage, type WebhookMessageState } from './webhook-message.entity';
import { renewMessages } from './sql/renew-messages.sql';

export interface DeliveryFilter {
  readonly state?: WebhookMessageState;
  readonly eventType?: string;
}

export interface DeliveryPage {
  readonly limit: number;
  /** Only those with a smaller id. */
  readonly after?: string;
}

/** What is to become a message: an event, or nothing but an id and a name. */
export type Messageable = Pick<WebhookMessage, 'id' | 'emailId' | 'sequence' | 'eventType'>;

type Owner = Pick<WebhookEndpoint, 'organizationId' | 'mode' | 'id'>;

@Injectable()
export class WebhookDeliveriesRepository {
  constructor(@InjectRepository(WebhookMessage) private readonly messages: Repository<WebhookMessage>) {}

  /** Those with the greatest ids first. */
  page(owner: Owner, { state, eventType }: DeliveryFilter, { limit, after }: DeliveryPage): Promise<WebhookMessage[]> {
    return this.messages.find({
      where: {
        ...ofEndpoint(owner),
        ...(state !== undefined && { state }),
        ...(eventType !== undefined && { eventType }),
        ...(after !== undefined && { id: LessThan(after) }),
      },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  find(owner: Owner, id: string, tx: Transaction): Promise<WebhookMessage | null> {
    return tx.manager.findOneBy(WebhookMessage, { ...ofEndpoint(owner), id });
  }

  /** Makes messages, due now; those that are there already begin anew, unless one is being sent. */
  async renew(owner: Owner, messages: readonly Messageable[], now: Date, tx: Transaction): Promise<void> {
    if (messages.length > 0) await tx.run(renewMessages(owner, messages, now));
  }
}

function ofEndpoint({ organizationId, mode, id }: Owner) {
  return { organizationId, mode, endpointId: id };
}
