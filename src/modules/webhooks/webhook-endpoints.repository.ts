import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import type { Principal } from '../../common/http/principal';
import type { Transaction } from '../../database/transaction';
import { lockWebhookList } from './sql/lock-webhook-list.sql';
import { noteRemoval } from './sql/note-removal.sql';
import { WebhookEndpoint } from './webhook-endpoint.entity';

/** Whose endpoints are seen: those of one mode; by a key that is bound to a domain, those of the domain alone. */
export type WebhookHolder = Pick<Principal, 'organizationId' | 'mode' | 'domainId' | 'apiKeyId'>;

@Injectable()
export class WebhookEndpointsRepository {
  constructor(@InjectRepository(WebhookEndpoint) private readonly endpoints: Repository<WebhookEndpoint>) {}

  /** Oldest first. */
  list(holder: WebhookHolder): Promise<WebhookEndpoint[]> {
    return this.endpoints.find({ where: visibleTo(holder), order: { id: 'ASC' } });
  }

  find(holder: WebhookHolder, id: string): Promise<WebhookEndpoint | null> {
    return this.endpoints.findOneBy({ ...visibleTo(holder), id });
  }

  /** Holds back other changes to it, its removal too, until the end of the transaction. */
  lock(holder: WebhookHolder, id: string, tx: Transaction): Promise<WebhookEndpoint | null> {
    const where = { ...visibleTo(holder), id };
    return tx.manager.findOne(WebhookEndpoint, { where, lock: { mode: 'pessimistic_write' } });
  }

  /** How many the organization has in the mode, whoever sees them; nobody adds one until the end of the transaction. */
  async countHeld({ organizationId, mode }: WebhookHolder, tx: Transaction): Promise<number> {
    await tx.run(lockWebhookList(organizationId, mode));
    return tx.manager.countBy(WebhookEndpoint, { organizationId, mode });
  }

  async insert(endpoint: WebhookEndpoint, tx: Transaction): Promise<void> {
    await tx.manager.insert(WebhookEndpoint, endpoint);
  }

  async update(endpoint: WebhookEndpoint, change: Partial<WebhookEndpoint>, tx: Transaction): Promise<void> {
    const { organizationId, mode, id } = endpoint;
    await tx.manager.update(WebhookEndpoint, { organizationId, mode, id }, change);
  }

  /** Its messages go later, in parts. */
  async delete({ organizationId, mode, id }: WebhookEndpoint, tx: Transaction): Promise<void> {
    await tx.manager.delete(WebhookEndpoint, { organizationId, mode, id });
    await tx.run(noteRemoval(organizationId, mode, id));
  }
}

function visibleTo({ organizationId, mode, domainId }: WebhookHolder) {
  return { organizationId, mode, ...(domainId !== undefined && { domainId }) };
}
