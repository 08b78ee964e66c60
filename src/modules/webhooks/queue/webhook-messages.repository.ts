import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, type Repository } from 'typeorm';
import type { Tenant } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { bringForward } from './sql/endpoint-health.sql';
import {
  deleteOldMessages,
  type DispatchMeasure,
  endOfDisabled,
  eraseResponses,
  freeOrphanedClaims,
  measureDispatch,
} from './sql/message-sweeps.sql';
import { type ClaimInput, claimMessages, settleMessages } from './sql/message-claims.sql';
import { renewMessages } from './sql/replays.sql';
import { type WebhookEndpoint, WebhookMessage, type WebhookMessageState } from './webhook.entity';
import { ATTEMPTS, LONGEST_ATTEMPT_MS } from './retry-schedule';
import type { ClaimedMessage, EndpointKey, SettledMessage } from './webhook-queue';

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

/** An endpoint that has failed since then, and the most of its messages that are made due in one statement. */
export interface FailedEndpoint {
  readonly endpoint: EndpointKey;
  readonly failingSince: Date;
  readonly now: Date;
  readonly limit: number;
}

type Owner = Pick<WebhookEndpoint, 'organizationId' | 'mode' | 'id'>;

/** The queue of webhooks. All of it throws UnavailableError. */
@Injectable()
export class WebhookMessagesRepository {
  constructor(
    @InjectRepository(WebhookMessage) private readonly messages: Repository<WebhookMessage>,
    private readonly database: Database,
  ) {}

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

  /** Whether so many wait to be sent to an endpoint; reads up to that many entries of the index webhook_messages_due. */
  async hasWaiting(owner: Owner, count: number, tx: Transaction): Promise<boolean> {
    const where = { ...ofEndpoint(owner), state: 'pending' } as const;
    const found = await tx.manager.find(WebhookMessage, { select: { id: true }, where, skip: count - 1, take: 1 });
    return found.length > 0;
  }

  /** With the response to its last attempt. */
  findWithResponse(owner: Owner, id: string): Promise<WebhookMessage | null> {
    return this.messages
      .createQueryBuilder('message')
      .addSelect('message.lastResponse')
      .where({ ...ofEndpoint(owner), id })
      .getOne();
  }

  /** Inserts messages, due now; existing ones start again. One that is being sent does so if that attempt fails. */
  async renew(owner: Owner, messages: readonly Messageable[], now: Date, tx: Transaction): Promise<void> {
    if (messages.length > 0) await tx.run(renewMessages(owner, messages, now));
  }

  claim(input: ClaimInput): Promise<ClaimedMessage[]> {
    return this.database.run(claimMessages(input));
  }

  settle(settled: readonly SettledMessage[], tx: Transaction): void {
    tx.write(settleMessages(settled));
  }

  /**
   * Makes due what was tried while the endpoint failed, but for messages that have had all their attempts: those fail for another
   * reason. Returns how many. @param tx default: a transaction of its own
   */
  async bringForward(
    { failingSince, ...failed }: FailedEndpoint,
    tx: Pick<Transaction, 'run'> = this.database,
  ): Promise<number> {
    const triedSince = new Date(failingSince.getTime() - LONGEST_ATTEMPT_MS);
    return (await tx.run(bringForward({ ...failed, triedSince, triedLessThan: ATTEMPTS }))).length;
  }

  /** Returns how many. @param latest the end of a claim made now */
  async freeOrphanedClaims(now: Date, latest: Date, limit: number): Promise<number> {
    return (await this.database.run(freeOrphanedClaims(now, latest, limit))).length;
  }

  /** Returns how many. */
  async endOfDisabled(error: string, limit: number): Promise<number> {
    return (await this.database.run(endOfDisabled(error, limit))).length;
  }

  /** Ends all that waits for one endpoint. */
  async endAllOf(owner: Owner, error: string, tx: Transaction): Promise<void> {
    const ended = { state: 'failed', lastError: error } as const;
    await tx.manager.update(WebhookMessage, { ...ofEndpoint(owner), state: 'pending' }, ended);
  }

  /** Returns how many. */
  async deleteBefore(before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldMessages(before, limit))).length;
  }

  /** Of a thousand events or so. */
  async eraseResponses(tenant: Tenant, eventIds: readonly string[], tx: Transaction): Promise<void> {
    await tx.run(eraseResponses(tenant, eventIds));
  }

  async measure(now: Date): Promise<DispatchMeasure> {
    const [measure] = await this.database.run(measureDispatch(now));
    return measure as DispatchMeasure;
  }
}

function ofEndpoint({ organizationId, mode, id }: Owner) {
  return { organizationId, mode, endpointId: id };
}
