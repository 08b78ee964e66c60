import { Injectable } from '@nestjs/common';
import { domainOf } from '../../common/mail-address';
import type { Transaction } from '../../database/statements/transaction';
import type { EmailKey } from '../ports/delivery';
import { type HeldBack, HeldDestinations } from '../shaping/held-destinations.service';
import { DeliveryQueueRepository, type OpenDelivery } from './delivery-queue.repository';
import { type LastDeferral, type Waiting, waitingOf, wordsOf } from './waiting';

/** A recipient's address, and the result of the last attempt. */
export interface KnownRecipient {
  readonly address: string;
  readonly last?: LastDeferral | undefined;
}

/** What the queue still holds of emails, and why each of it waits. */
@Injectable()
export class OpenDeliveries {
  constructor(
    private readonly queue: DeliveryQueueRepository,
    private readonly held: HeldDestinations,
  ) {}

  /** Of one email, as its tenant sees it. @param recipients by position */
  async ofEmail(
    email: EmailKey,
    recipients: ReadonlyMap<number, KnownRecipient>,
  ): Promise<(OpenDelivery & { readonly waiting: Waiting })[]> {
    const open = await this.queue.findOpen(email);
    if (open.length === 0) return [];
    const held = await this.held.get();
    return open.map((row) => {
      const { address = '', last } = recipients.get(row.position) ?? {};
      // The simulator takes test mail, whatever becomes of the destinations.
      const destination = email.mode === 'live' ? held.of(domainOf(address), last?.mxHost) : undefined;
      return { ...row, waiting: waitingOf(row, last, destination && asTold(destination, last)) };
    });
  }

  /** Takes out what no worker has begun with; returns its recipients' positions. */
  withdraw(email: EmailKey, tx: Transaction): Promise<number[]> {
    return this.queue.withdraw(email, tx);
  }
}

/**
 * The cause of a hold may name another tenant's recipient, so a tenant sees the reply to its own mail. An operator's text is
 * shown.
 */
function asTold(held: HeldBack, last: LastDeferral | undefined): HeldBack {
  const { state, until, operator } = held;
  if (operator) return held;
  const cause = last && wordsOf(last);
  return { state, ...(until && { until }), ...(cause !== undefined && { cause }) };
}
