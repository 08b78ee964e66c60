import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import type { ClaimedDelivery } from '../ports/delivery';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { type AttemptResult, AttemptService } from './attempt.service';
import { MessagePreparer, type Prepared } from './message-preparer';
import { Settler } from './settler';
import { SmtpTransmitter } from './smtp-transmitter';
import { WorkerSession } from './worker-session';

/** Results that may wait for their commit, for each delivery that may be under way. */
const SETTLING_PER_ATTEMPT = 8;

/**
 * Carries claimed deliveries through their stages, and knows which are under way:
 *
 *   take ──► prepare (a batch: load, compose, sign) ──► attempt (each: slot, transmit) ──► settle, or release
 *
 * Its capacity is what attempts take: a mail's content is in memory until its attempt has ended, and a result that waits
 * for its commit weighs nothing.
 */
@Injectable()
export class DeliveryPipeline {
  private readonly logger = new Logger(DeliveryPipeline.name);
  private readonly underWay = new Set<Promise<void>>();
  private readonly inHand = new Set<string>();
  private attempting = 0;
  private wakeWaiting: (() => void) | undefined;

  constructor(
    private readonly preparer: MessagePreparer,
    private readonly attempts: AttemptService,
    private readonly transmitter: SmtpTransmitter,
    private readonly settler: Settler,
    private readonly queue: DeliveryQueueRepository,
    private readonly session: WorkerSession,
  ) {}

  /** Deliveries whose attempt has not ended. */
  get size(): number {
    return this.attempting;
  }

  /** False for a claim that this process does not work on. */
  has(claim: ClaimedDelivery): boolean {
    return this.inHand.has(nameOf(claim));
  }

  /** To be called before the first `take`: commits what an earlier process has left uncommitted. */
  open(): Promise<void> {
    return this.settler.recover();
  }

  /** Takes claims on; a batch that cannot be prepared (the database is away) is given back. */
  async take(claims: readonly ClaimedDelivery[]): Promise<void> {
    for (const claim of claims) this.inHand.add(nameOf(claim));
    const prepared = await this.prepare(claims);
    if (prepared) for (const [claim, item] of prepared) this.track(claim, item);
    else for (const claim of claims) this.inHand.delete(nameOf(claim));
  }

  /** Resolves when fewer than `limit` attempts are under way, and not too many results wait for their commit. */
  waitForCapacity(limit: number): Promise<void> {
    return this.waitWhile(() => this.attempting >= limit || this.underWay.size >= limit * SETTLING_PER_ATTEMPT);
  }

  /**
   * Finishes what is under way; conversations that have not written their final dot after `limitMs` are cut off.
   */
  async close(limitMs: number): Promise<void> {
    const drained = this.waitWhile(() => this.underWay.size > 0);
    const limit = new AbortController();
    const timeout = delay(limitMs, 'timeout', { signal: limit.signal, ref: false });
    const ended = await Promise.race([drained, timeout.catch(() => undefined)]);
    limit.abort();
    if (ended === 'timeout') {
      this.logger.warn(`${this.size} deliveries are cut off by the end of the drain time`);
      this.transmitter.destroy();
      await drained;
    }
    await this.transmitter.close();
    this.settler.end();
  }

  private async waitWhile(isBusy: () => boolean): Promise<void> {
    while (isBusy()) await new Promise<void>((resolve) => (this.wakeWaiting = resolve));
  }

  private notifyWaiting(): void {
    const { wakeWaiting } = this;
    this.wakeWaiting = undefined;
    wakeWaiting?.();
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

  /** Nothing that waits for the commit holds on to what was prepared. */
  private track(claim: ClaimedDelivery, prepared: Prepared): void {
    const tracked = this.attempt(claim, prepared)
      .then((result) => this.finish(claim, result))
      .catch((error: unknown) =>
        this.logger.error({ msg: 'A delivery was lost on the way; it will be found again', error }),
      )
      .finally(() => {
        this.underWay.delete(tracked);
        this.inHand.delete(nameOf(claim));
        this.notifyWaiting();
      });
    this.underWay.add(tracked);
  }

  private async attempt(claim: ClaimedDelivery, prepared: Prepared): Promise<AttemptResult> {
    this.attempting += 1;
    try {
      return await this.attempts.run(claim, prepared, () => this.session.holds(claim.sessionId));
    } finally {
      this.attempting -= 1;
      this.notifyWaiting();
    }
  }

  private async finish(claim: ClaimedDelivery, result: AttemptResult): Promise<void> {
    if (result.kind === 'settled') await this.settler.settle(result.settlement);
    else await this.release([claim]);
  }

  /** A claim that cannot be given back now is found again by the sweep, as one that is not in hand. */
  private async release(claims: readonly ClaimedDelivery[]): Promise<void> {
    await this.queue
      .release(claims)
      .catch((error: unknown) => this.logger.warn(`Claims not given back: ${(error as Error).message}`));
  }
}

function nameOf({ emailId, position, claimToken }: ClaimedDelivery): string {
  return `${emailId} ${position} ${claimToken}`;
}
