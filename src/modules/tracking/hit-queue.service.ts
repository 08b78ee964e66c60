import { type BeforeApplicationShutdown, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Clock, SECOND } from '../../common/clock';
import { UnavailableError, reasonOf } from '../../common/errors/app-error';
import { translateDatabaseError } from '../../database/statements/database-errors';
import { HitWriter, TrackingMetrics } from './hit-writer.service';
import { BURST_MS, type Hit } from './hit-history';

const TICK_MS = SECOND / 4;
const MAX_BATCH = 500;
/** Enough for 5,000 hits a second while the database responds; some 25 MB at most. */
const MAX_WAITING = 10_000;
/** How many hits of one organization may wait per free place: an organization alone can take nine tenths of the queue. */
const SHARE_PER_FREE = 9;
const RETRY_MS = SECOND;

/**
 * Queues hits until they can be classified, then writes them in batches. No request waits for that. They are kept in memory
 * only: a crash loses those of the last two and a half seconds.
 *
 * waiting → written. While the database is unavailable hits wait; further ones are dropped once the queue is full, or holds
 * so many of the organization that too few places would be left for others. A hit that cannot be written although the database
 * responds is dropped alone.
 */
@Injectable()
export class HitQueue implements OnModuleInit, BeforeApplicationShutdown {
  private readonly logger = new Logger(HitQueue.name);
  private readonly waiting: Hit[] = [];
  /** Waiting hits of each organization, by its ordinal. */
  private readonly waitingOf = new Map<number, number>();
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;
  private pausedUntilMs = -Infinity;

  constructor(
    private readonly writer: HitWriter,
    private readonly clock: Clock,
    private readonly metrics: TrackingMetrics,
  ) {
    metrics.showWaiting(() => this.waiting.length);
  }

  onModuleInit(): void {
    this.timer = setInterval(() => void this.flushDue(), TICK_MS);
  }

  /** Writes all waiting hits; those that cannot be written now are lost. */
  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.flushing;
    await this.flush(Infinity);
    if (this.waiting.length > 0) this.drop(this.waiting.splice(0), 'the process stops');
  }

  add(hit: Hit): void {
    const free = MAX_WAITING - this.waiting.length;
    const mine = this.waitingOf.get(hit.target.organizationOrdinal) ?? 0;
    if (mine >= SHARE_PER_FREE * free) this.metrics.count(hit.kind, 'dropped');
    else this.enqueue(hit);
  }

  private enqueue(hit: Hit): void {
    this.waiting.push(hit);
    this.note([hit], 1);
  }

  private note(hits: readonly Hit[], change: 1 | -1): void {
    for (const { target } of hits) {
      const count = (this.waitingOf.get(target.organizationOrdinal) ?? 0) + change;
      if (count > 0) this.waitingOf.set(target.organizationOrdinal, count);
      else this.waitingOf.delete(target.organizationOrdinal);
    }
  }

  private async flushDue(): Promise<void> {
    const nowMs = this.clock.monotonicMs();
    if (this.flushing || nowMs < this.pausedUntilMs) return;
    this.flushing = this.flush(nowMs - BURST_MS).finally(() => (this.flushing = undefined));
    await this.flushing;
  }

  /** Writes hits up to a time; stops at the first batch for which the database is unavailable. */
  private async flush(upToMs: number): Promise<void> {
    for (;;) {
      const batch = this.takeUpTo(upToMs);
      if (batch.length === 0) return;
      if (!(await this.write(batch))) {
        this.waiting.unshift(...batch);
        this.note(batch, 1);
        return;
      }
    }
  }

  private takeUpTo(upToMs: number): Hit[] {
    const end = this.waiting.findIndex(({ atMs }, index) => atMs > upToMs || index >= MAX_BATCH);
    const taken = this.waiting.splice(0, end === -1 ? this.waiting.length : end);
    this.note(taken, -1);
    return taken;
  }

  /** Returns false when the database is unavailable and the batch is to be retried. */
  private async write(batch: readonly Hit[]): Promise<boolean> {
    try {
      const results = await this.writer.write(batch);
      results.forEach((result, index) => this.metrics.count((batch[index] as Hit).kind, result));
      this.pausedUntilMs = -Infinity;
      return true;
    } catch (error) {
      const translated = translateDatabaseError(error);
      if (translated instanceof UnavailableError) {
        this.pause(translated);
        return false;
      }
      return this.writeEach(batch, error as Error);
    }
  }

  /** Writes hits one by one: a hit that cannot be written must not fail the others of its batch. */
  private async writeEach(batch: readonly Hit[], error: Error): Promise<boolean> {
    if (batch.length === 1) {
      this.drop(batch, error.message);
      return true;
    }
    for (const hit of batch) {
      if (!(await this.write([hit]))) this.drop([hit], 'the database is away');
    }
    return true;
  }

  private pause(error: Error): void {
    if (this.pausedUntilMs === -Infinity) {
      this.logger.warn(`Opens and clicks wait for the database: ${reasonOf(error)}`);
    }
    this.pausedUntilMs = this.clock.monotonicMs() + RETRY_MS;
  }

  private drop(hits: readonly Hit[], reason: string): void {
    this.logger.error(`${hits.length} opens and clicks are lost: ${reason}`);
    for (const { kind } of hits) this.metrics.count(kind, 'dropped');
  }
}
