import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { MicroBatcher } from '../../common/async/micro-batcher';
import { endsWithin } from '../../common/async/promises';
import { SECOND } from '../../common/clock';
import { reasonOf } from '../../common/errors/app-error';
import type { ClaimedDelivery } from '../ports/delivery';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { AttemptDispatcher } from './attempt-dispatcher';
import { type AttemptResult, AttemptService } from './attempts/attempt.service';
import { IN_A_TURN, MessagePreparer, type Prepared } from './attempts/message-preparer';
import { Settler } from '../results/settler';
import { SmtpTransmitter } from './attempts/smtp-transmitter';

/** Claims that are given back together. */
const RELEASE_BATCH = 200;
/** After the drain time, for the results of what was cut off. */
const COMMIT_MS = 3 * SECOND;
/** For QUIT and its reply. */
const QUIT_MS = 3 * SECOND;

/**
 * Takes claimed deliveries through their stages, and tracks those under way:
 *
 *   take ──► prepare (a batch: load, compose, sign) ──► wait for a slot, attempt (`AttemptDispatcher`) ──► settle, or release
 *
 * A mail's content is in memory until its attempt has ended, and a result that waits for its commit holds none.
 */
@Injectable()
export class DeliveryPipeline {
  private readonly logger = new Logger(DeliveryPipeline.name);
  private underWay = 0;
  private readonly inHand = new Map<string, ClaimedDelivery>();
  /** Deliveries whose result waits for its commit. */
  private readonly settling = new Set<ClaimedDelivery>();
  private readonly waiting = new Set<() => void>();
  private readonly releases = new MicroBatcher<ClaimedDelivery, undefined>((claims) => this.releaseAll(claims), {
    maxWeight: RELEASE_BATCH,
    concurrency: 1,
  });
  private closing = false;

  constructor(
    private readonly preparer: MessagePreparer,
    private readonly attempts: AttemptService,
    private readonly dispatcher: AttemptDispatcher,
    private readonly transmitter: SmtpTransmitter,
    private readonly settler: Settler,
    private readonly queue: DeliveryQueueRepository,
  ) {}

  /** Deliveries that are claimed and not settled. */
  get size(): number {
    return this.underWay;
  }

  /** Nothing more is taken on. */
  get isClosing(): boolean {
    return this.closing;
  }

  /** Deliveries at any stage. */
  claims(): ClaimedDelivery[] {
    return [...this.inHand.values()];
  }

  /** False for a claim that this process does not work on. */
  has(claim: ClaimedDelivery): boolean {
    return this.inHand.has(nameOf(claim));
  }

  /** Takes claims on; a batch that cannot be prepared (the database is away), or comes too late, is given back. */
  async take(claims: readonly ClaimedDelivery[]): Promise<void> {
    if (this.closing) return this.release(claims);
    for (const claim of claims) this.inHand.set(nameOf(claim), claim);
    const prepared = await this.prepare(claims);
    if (prepared) return this.carryAll([...prepared]);
    for (const claim of claims) this.drop(claim);
  }

  private async carryAll(prepared: readonly (readonly [ClaimedDelivery, Prepared])[]): Promise<void> {
    for (const [at, [claim, item]] of prepared.entries()) {
      if (at > 0 && at % IN_A_TURN === 0) await nextTurn();
      void this.carry(claim, this.attempt(claim, item));
    }
  }

  /** Resolves true once nothing is under way, false after `limitMs` or at the close; what waits by then is given back. */
  async isIdleWithin(limitMs: number): Promise<boolean> {
    await this.until(() => this.closing || this.inHand.size === 0, limitMs);
    this.dispatcher.turnAwayAll();
    return this.inHand.size === 0;
  }

  /** Resolves true once a claim is settled or given back, false after `limitMs`. */
  isSettledWithin(claim: ClaimedDelivery, limitMs: number): Promise<boolean> {
    return this.until(() => !this.has(claim), limitMs);
  }

  /** True for a claim whose attempt is over, which may not be committed yet. */
  isOver(claim: ClaimedDelivery): boolean {
    return this.settling.has(claim) || !this.has(claim);
  }

  /** Resolves true once a claim's attempt is over; false after `limitMs`. */
  isOverWithin(claim: ClaimedDelivery, limitMs: number): Promise<boolean> {
    return this.until(() => this.isOver(claim), limitMs);
  }

  /** True for a claim that is composed and signed, and waits for its server, or for a slot, since `ms`. */
  hasWaited(claim: ClaimedDelivery, ms: number): boolean {
    return this.dispatcher.hasWaited(claim, ms);
  }

  /** Ends the attempt for a claim as after a time limit, if its server is silent and its final dot is not out; gives it back if it waits. */
  cutShort(claim: ClaimedDelivery): void {
    this.dispatcher.cutShort(claim);
  }

  /**
   * Gives back what has not begun and finishes the rest; conversations that have not written their final dot after `limitMs`
   * are cut off. What is not committed soon after that (the database is away) is given up: acceptances are in the journal.
   * @returns false when something was given up, which the session holds until its lease ends
   */
  async close(limitMs: number): Promise<boolean> {
    this.closing = true;
    this.notifyWaiting();
    this.dispatcher.close();
    if (!(await this.until(() => this.inHand.size === 0, limitMs))) {
      this.logger.warn(`${this.size} deliveries are cut off by the end of the drain time`);
      this.transmitter.destroy();
      await this.until(() => this.inHand.size === 0, COMMIT_MS);
    }
    const given = this.inHand.size;
    if (given > 0) await this.giveUp();
    if (!(await endsWithin(this.transmitter.close(), QUIT_MS))) this.transmitter.destroy();
    this.settler.end();
    return given === 0;
  }

  private async giveUp(): Promise<void> {
    const unbegun = this.claims().filter((claim) => !this.settling.has(claim));
    this.logger.error(`${this.settling.size} results are not committed; acceptances among them are in the journal`);
    this.settler.abandon();
    if (unbegun.length > 0) await this.release(unbegun);
  }

  /** True once a condition holds, which is checked whenever something ends; false after `limitMs`. */
  private async until(isMet: () => boolean, limitMs: number): Promise<boolean> {
    if (isMet()) return true;
    return new Promise((resolve) => {
      const end = (met: boolean): void => {
        clearTimeout(timer);
        this.waiting.delete(look);
        resolve(met);
      };
      const look = (): void => {
        if (isMet()) end(true);
      };
      const timer = setTimeout(() => end(false), limitMs);
      this.waiting.add(look);
    });
  }

  private notifyWaiting(): void {
    for (const look of this.waiting) look();
  }

  private async prepare(claims: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, Prepared> | undefined> {
    try {
      return await this.preparer.prepare(claims);
    } catch (error) {
      this.logger.warn(`${claims.length} claims could not be prepared: ${reasonOf(error)}`);
      await this.release(claims);
      return undefined;
    }
  }

  /** Nothing that waits for the commit holds on to what was prepared. */
  private async carry(claim: ClaimedDelivery, attempt: Promise<AttemptResult>): Promise<void> {
    this.underWay += 1;
    try {
      await this.finish(claim, await attempt);
    } catch (error) {
      this.logger.error({ msg: 'A delivery was lost on the way; it will be found again', error });
    } finally {
      this.underWay -= 1;
      this.drop(claim);
    }
  }

  private drop(claim: ClaimedDelivery): void {
    this.inHand.delete(nameOf(claim));
    this.settling.delete(claim);
    this.notifyWaiting();
  }

  private async attempt(claim: ClaimedDelivery, prepared: Prepared): Promise<AttemptResult> {
    switch (prepared.kind) {
      case 'message':
        return this.dispatcher.enter(claim, prepared.message);
      case 'ending':
        return this.attempts.end(claim, prepared.ending);
      case 'simulation':
        return this.attempts.simulate(claim);
      case 'fault':
        return this.attempts.fail(claim, prepared.error);
    }
  }

  private async finish(claim: ClaimedDelivery, result: AttemptResult): Promise<void> {
    if (result.kind === 'released') return void (await this.releases.add(claim));
    this.settling.add(claim);
    this.notifyWaiting();
    await this.settler.settle(result.settlement);
  }

  private async releaseAll(claims: readonly ClaimedDelivery[]): Promise<undefined[]> {
    await this.release(claims);
    return claims.map(() => undefined);
  }

  /** A claim that cannot be given back now is found by the sweep, as one missing from the pipeline. */
  private async release(claims: readonly ClaimedDelivery[]): Promise<void> {
    await this.queue
      .release(claims)
      .catch((error: unknown) => this.logger.warn(`Claims not given back: ${reasonOf(error)}`));
  }
}

function nameOf({ emailId, position, claimToken }: ClaimedDelivery): string {
  return `${emailId} ${position} ${claimToken}`;
}
