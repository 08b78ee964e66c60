import { Injectable, Logger } from '@nestjs/common';
import type { ClaimedDelivery } from '../ports/delivery';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { type AttemptResult, AttemptService } from './attempt.service';
import { JournaledSettler } from './journaled-settler.service';
import { MessagePreparer, type Prepared } from './message-preparer.service';
import { WorkerSession } from './worker-session';

/** Results that may wait for their commit, for each delivery that there is room for. */
const SETTLING_PER_ROOM = 8;

/**
 * Carries claimed deliveries from preparation to settlement; knows which are under way. Room is what attempts take: a mail's
 * content is in memory until its attempt has ended, and a result that waits for its commit weighs nothing.
 */
@Injectable()
export class Conveyor {
  private readonly logger = new Logger(Conveyor.name);
  private readonly underWay = new Set<Promise<void>>();
  private readonly inHand = new Set<string>();
  private attempting = 0;
  private room: (() => void) | undefined;

  constructor(
    private readonly preparer: MessagePreparer,
    private readonly attempts: AttemptService,
    private readonly settler: JournaledSettler,
    private readonly queue: DeliveryQueueRepository,
    private readonly session: WorkerSession,
  ) {}

  /** Deliveries whose attempt has not ended. */
  get size(): number {
    return this.attempting;
  }

  /** Takes claims on; a batch that cannot be prepared (the database is away) is given back. */
  async take(claims: readonly ClaimedDelivery[]): Promise<void> {
    for (const claim of claims) this.inHand.add(nameOf(claim));
    const prepared = await this.prepare(claims);
    if (prepared) for (const [claim, item] of prepared) this.track(claim, item);
    else for (const claim of claims) this.inHand.delete(nameOf(claim));
  }

  /** False for a claim that this process does not work on. */
  has(claim: ClaimedDelivery): boolean {
    return this.inHand.has(nameOf(claim));
  }

  /** Resolves when fewer than `limit` attempts are under way, and not too many results wait for their commit. */
  waitForRoom(limit: number): Promise<void> {
    return this.waitWhile(() => this.attempting >= limit || this.underWay.size >= limit * SETTLING_PER_ROOM);
  }

  /** Resolves when nothing is under way. */
  drained(): Promise<void> {
    return this.waitWhile(() => this.underWay.size > 0);
  }

  private async waitWhile(isBusy: () => boolean): Promise<void> {
    while (isBusy()) await new Promise<void>((resolve) => (this.room = resolve));
  }

  private tellWaiting(): void {
    const { room } = this;
    this.room = undefined;
    room?.();
  }

  private async prepare(claims: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, Prepared> | undefined> {
    try {
      return await this.preparer.prepare(claims);
    } catch (error) {
      this.logger.warn(`${claims.length} claims could not be prepared: ${(error as Error).message}`);
      await this.release(claims);
      return undefined;
    }
  }

  private async attempt(claim: ClaimedDelivery, prepared: Prepared): Promise<AttemptResult> {
    this.attempting += 1;
    try {
      return await this.attempts.run(claim, prepared, () => this.session.holds(claim.sessionId));
    } finally {
      this.attempting -= 1;
      this.tellWaiting();
    }
  }

  private async conclude(claim: ClaimedDelivery, result: AttemptResult): Promise<void> {
    if (result.kind === 'settled') await this.settler.settle(result.settlement);
    else await this.release([claim]);
  }

  /** A claim that cannot be given back now is found again as one that nobody works on. */
  private async release(claims: readonly ClaimedDelivery[]): Promise<void> {
    await this.queue
      .release(claims)
      .catch((error: unknown) => this.logger.warn(`Claims not given back: ${(error as Error).message}`));
  }

  /** Nothing that waits for the commit holds on to what was prepared. */
  private track(claim: ClaimedDelivery, prepared: Prepared): void {
    const tracked = this.attempt(claim, prepared)
      .then((result) => this.conclude(claim, result))
      .catch((error: unknown) =>
        this.logger.error({ msg: 'A delivery was lost on the way; it will be found again', error }),
      )
      .finally(() => {
        this.underWay.delete(tracked);
        this.inHand.delete(nameOf(claim));
        this.tellWaiting();
      });
    this.underWay.add(tracked);
  }
}

function nameOf({ emailId, position, claimToken }: ClaimedDelivery): string {
  return `${emailId} ${position} ${claimToken}`;
}
