import { Injectable, Logger } from '@nestjs/common';
import type { ClaimedDelivery } from '../ports/delivery';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { AttemptService } from './attempt.service';
import { JournaledSettler } from './journaled-settler.service';
import { MessagePreparer, type Prepared } from './message-preparer.service';
import { WorkerSession } from './worker-session';

/** Carries claimed deliveries from preparation to settlement; knows which are under way. */
@Injectable()
export class Conveyor {
  private readonly logger = new Logger(Conveyor.name);
  private readonly underWay = new Set<Promise<void>>();
  private readonly inHand = new Set<string>();
  private room: (() => void) | undefined;

  constructor(
    private readonly preparer: MessagePreparer,
    private readonly attempts: AttemptService,
    private readonly settler: JournaledSettler,
    private readonly queue: DeliveryQueueRepository,
    private readonly session: WorkerSession,
  ) {}

  get size(): number {
    return this.underWay.size;
  }

  /** Takes claims on; a batch that cannot be prepared (the database is away) is given back. */
  async take(claims: readonly ClaimedDelivery[]): Promise<void> {
    for (const claim of claims) this.inHand.add(nameOf(claim));
    const prepared = await this.prepare(claims);
    if (prepared) for (const [claim, item] of prepared) this.track(claim, this.deliver(claim, item));
    else for (const claim of claims) this.inHand.delete(nameOf(claim));
  }

  /** False for a claim that this process does not work on. */
  has(claim: ClaimedDelivery): boolean {
    return this.inHand.has(nameOf(claim));
  }

  /** Resolves when fewer than `limit` are under way. */
  async waitForRoom(limit: number): Promise<void> {
    while (this.underWay.size >= limit) await new Promise<void>((resolve) => (this.room = resolve));
  }

  /** Resolves when nothing is under way. */
  drained(): Promise<void> {
    return this.waitForRoom(1);
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

  private async deliver(claim: ClaimedDelivery, prepared: Prepared): Promise<void> {
    const result = await this.attempts.run(claim, prepared, () => this.session.holds(claim.sessionId));
    if (result.kind === 'settled') await this.settler.settle(result.settlement);
    else await this.release([claim]);
  }

  /** A claim that cannot be given back now is found again as one that nobody works on. */
  private async release(claims: readonly ClaimedDelivery[]): Promise<void> {
    await this.queue
      .release(claims)
      .catch((error: unknown) => this.logger.warn(`Claims not given back: ${(error as Error).message}`));
  }

  private track(claim: ClaimedDelivery, run: Promise<void>): void {
    const tracked = run
      .catch((error: unknown) =>
        this.logger.error({ msg: 'A delivery was lost on the way; it will be found again', error }),
      )
      .finally(() => {
        this.underWay.delete(tracked);
        this.inHand.delete(nameOf(claim));
        const { room } = this;
        this.room = undefined;
        room?.();
      });
    this.underWay.add(tracked);
  }
}

function nameOf({ emailId, position, claimToken }: ClaimedDelivery): string {
  return `${emailId} ${position} ${claimToken}`;
}
