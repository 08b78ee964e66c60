import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
import type { Advance, ClaimedMessage, EndpointKey, Listener, NewMessage, SettledMessage } from './dispatched-message';
import { advanceListeners } from './sql/advance-listeners.sql';
import { bringForward, endFailure, type ForwardInput } from './sql/bring-forward.sql';
import { type ClaimInput, claimMessages } from './sql/claim-messages.sql';
import { listListeners } from './sql/list-listeners.sql';
import { type DispatchMeasure, measureDispatch } from './sql/measure-dispatch.sql';
import { type EndpointChange, type HealthInput, recordHealth } from './sql/record-health.sql';
import { settleMessages } from './sql/settle-messages.sql';
import { endOfDisabled, freeLostClaims } from './sql/sweep-messages.sql';

/** The webhooks' queue: messages, and how their endpoints fare. All of it throws UnavailableError. */
@Injectable()
export class DispatchRepository {
  constructor(private readonly database: Database) {}

  listeners(after: EndpointKey, limit: number): Promise<Listener[]> {
    return this.database.run(listListeners(after, limit));
  }

  async advance(advances: readonly Advance[], messages: readonly NewMessage[], now: Date): Promise<void> {
    await this.database.run(advanceListeners(advances, messages, now));
  }

  claim(input: ClaimInput): Promise<ClaimedMessage[]> {
    return this.database.run(claimMessages(input));
  }

  settle(settled: readonly SettledMessage[], tx: Transaction): void {
    tx.write(settleMessages(settled));
  }

  recordHealth(input: HealthInput, tx: Transaction): Promise<EndpointChange[]> {
    return tx.run(recordHealth(input));
  }

  /** Answers how many. */
  async bringForward(input: ForwardInput): Promise<number> {
    return (await this.database.run(bringForward(input))).length;
  }

  async endFailure(endpoint: EndpointKey, failingSince: Date): Promise<void> {
    await this.database.run(endFailure(endpoint, failingSince));
  }

  /** Answers how many. */
  async freeLostClaims(now: Date, limit: number): Promise<number> {
    return (await this.database.run(freeLostClaims(now, limit))).length;
  }

  /** Answers how many. */
  async endOfDisabled(error: string, limit: number): Promise<number> {
    return (await this.database.run(endOfDisabled(error, limit))).length;
  }

  async measure(now: Date): Promise<DispatchMeasure> {
    const [measure] = await this.database.run(measureDispatch(now));
    return measure as DispatchMeasure;
  }
}

export type { DispatchMeasure } from './sql/measure-dispatch.sql';
export type { EndpointChange } from './sql/record-health.sql';
