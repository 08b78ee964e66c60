import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, LessThan, type Repository } from 'typeorm';
import type { Tenant } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import { lockList } from '../../../database/statements/locks.sql';
import type { Transaction } from '../../../database/statements/transaction';
import { endFailure, type EndpointChange, type HealthInput, recordHealth } from './sql/endpoint-health.sql';
import {
  advanceFollowers,
  clearRemoved,
  type EncryptedSecrets,
  listEncryptedSecrets,
  listFollowers,
  listFollowersOf,
  noteRemoval,
} from './sql/webhook-endpoints.sql';
import { HAS_REPLAY, nextReplays, type OpenReplay } from './sql/replays.sql';
import type { Advance, EndpointKey, Follower, NewMessage } from './webhook-queue';
import { WebhookEndpoint, WebhookReplay } from './webhook.entity';

/** Endpoints, and what is left of those that have been removed. All of it throws UnavailableError. */
@Injectable()
export class WebhookEndpointsRepository {
  constructor(
    @InjectRepository(WebhookEndpoint) private readonly endpoints: Repository<WebhookEndpoint>,
    private readonly database: Database,
  ) {}

  /** Oldest first. */
  list(tenant: Tenant): Promise<WebhookEndpoint[]> {
    return this.endpoints.find({ where: visibleTo(tenant), order: { id: 'ASC' } });
  }

  find(tenant: Tenant, id: string): Promise<WebhookEndpoint | null> {
    return this.endpoints.findOneBy({ ...visibleTo(tenant), id });
  }

  /** Holds back other changes to it, its removal too, until the end of the transaction. */
  lock(tenant: Tenant, id: string, tx: Transaction): Promise<WebhookEndpoint | null> {
    const where = { ...visibleTo(tenant), id };
    return tx.manager.findOne(WebhookEndpoint, { where, lock: { mode: 'pessimistic_write' } });
  }

  /** Counts all of the organization and mode; further additions wait until the end of the transaction. */
  async countAll({ organizationId, mode }: Tenant, tx: Transaction): Promise<number> {
    await tx.run(lockList(`webhooks of ${organizationId} ${mode}`));
    return tx.manager.countBy(WebhookEndpoint, { organizationId, mode });
  }

  async insert(endpoint: WebhookEndpoint, tx: Transaction): Promise<void> {
    await tx.manager.insert(WebhookEndpoint, endpoint);
  }

  async update(endpoint: WebhookEndpoint, change: Partial<WebhookEndpoint>, tx: Transaction): Promise<void> {
    const { organizationId, mode, id } = endpoint;
    await tx.manager.update(WebhookEndpoint, { organizationId, mode, id }, change);
  }

  /** Its messages go later, in batches. */
  async delete({ organizationId, mode, id }: WebhookEndpoint, tx: Transaction): Promise<void> {
    await tx.manager.delete(WebhookEndpoint, { organizationId, mode, id });
    await tx.run(noteRemoval(organizationId, mode, id));
  }

  /** Deletes messages of one removed endpoint; false when there are none left, or other processes work on all of them. */
  async clearRemoved(limit: number): Promise<boolean> {
    return (await this.database.run(clearRemoved(limit))).length > 0;
  }

  async clearPreviousSecrets(now: Date): Promise<void> {
    const nothing = { previousSecret: null, previousSecretUntil: null };
    await this.endpoints.update({ previousSecretUntil: LessThan(now) }, nothing);
  }

  /** Enabled endpoints after a key that have fewer than `maxPending` messages to be sent. */
  followers(after: EndpointKey, maxPending: number, limit: number): Promise<Follower[]> {
    return this.database.run(listFollowers(after, maxPending, limit));
  }

  /** Theirs that are enabled and have fewer than `maxPending` messages to be sent. @param tenants each once */
  followersOf(tenants: readonly Tenant[], maxPending: number): Promise<Follower[]> {
    return this.database.run(listFollowersOf(tenants, maxPending));
  }

  /** Moves endpoints on in the event feed and inserts the messages of what they passed. */
  async advance(advances: readonly Advance[], messages: readonly NewMessage[], now: Date): Promise<void> {
    await this.database.run(advanceFollowers(advances, messages, now));
  }

  recordHealth(input: HealthInput, tx: Transaction): Promise<EndpointChange[]> {
    return tx.run(recordHealth(input));
  }

  async endFailure(endpoint: EndpointKey, failingSince: Date): Promise<void> {
    await this.database.run(endFailure(endpoint, failingSince));
  }

  /** Those of all organizations, in the order of their keys. */
  encryptedSecrets(limit: number, after?: EncryptedSecrets): Promise<EncryptedSecrets[]> {
    return this.database.run(listEncryptedSecrets(limit, after));
  }

  /** False when they are no longer as they were read. */
  async replaceSecrets(
    { organizationId, mode, id, secret, previousSecret }: EncryptedSecrets,
    replacement: Pick<EncryptedSecrets, 'secret' | 'previousSecret'>,
  ): Promise<boolean> {
    const asRead = { organizationId, mode, id, secret, previousSecret: previousSecret ?? IsNull() };
    return (await this.endpoints.update(asRead, replacement)).affected === 1;
  }
}

function visibleTo({ organizationId, mode, domainId }: Tenant) {
  return { organizationId, mode, ...(domainId !== undefined && { domainId }) };
}

/** Replays of past events to an endpoint, each with its position. All of it throws UnavailableError. */
@Injectable()
export class WebhookReplaysRepository {
  /** An SQL condition: whether any endpoint has one. */
  readonly hasAny = HAS_REPLAY;

  constructor(private readonly database: Database) {}

  exists({ organizationId, mode, id }: WebhookEndpoint, tx: Transaction): Promise<boolean> {
    return tx.manager.existsBy(WebhookReplay, { organizationId, mode, endpointId: id });
  }

  async insert(replay: WebhookReplay, tx: Transaction): Promise<void> {
    await tx.manager.insert(WebhookReplay, replay);
  }

  /**
   * One for each of the next organizations after an id: the one that has waited longest, of an endpoint that has fewer than
   * `maxPending` messages to be sent.
   */
  next(maxPending: number, after: string, limit: number): Promise<OpenReplay[]> {
    return this.database.run(nextReplays(maxPending, after, limit));
  }

  /**
   * Advances a replay from its last position, and locks it until the transaction ends. False when another process has done so,
   * or its endpoint was deleted.
   */
  async advance(replay: OpenReplay, position: string, now: Date, tx: Transaction): Promise<boolean> {
    const { affected } = await tx.manager.update(WebhookReplay, asRead(replay), { position, updatedAt: now });
    return affected === 1;
  }

  /** The same for its last step: the replay is over. */
  async finish(replay: OpenReplay, tx: Transaction): Promise<boolean> {
    return (await tx.manager.delete(WebhookReplay, asRead(replay))).affected === 1;
  }
}

function asRead({ organizationId, mode, id, position, endBefore }: OpenReplay) {
  return { organizationId, mode, endpointId: id, position, endBefore };
}

export type { OpenReplay };
