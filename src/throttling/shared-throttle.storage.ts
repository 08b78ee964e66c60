import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { Clock, MINUTE, SECOND } from '../common/clock';
import { reasonOf } from '../common/errors/app-error';
import { deleteInBatches } from '../common/jobs/periodic-jobs';
import { Metrics } from '../common/metrics/metrics';
import { ThrottleHitsRepository } from './throttle-hits.repository';
import { hitsOf, type WindowCounter, WindowCounters } from './window-counters';

/** Longer lets processes admit more than the limit before they learn of each other; shorter costs more statements. */
const FLUSH_MS = 100;
/** Between attempts while the store is unavailable. */
const RETRY_MS = SECOND;
const SWEEP_MS = MINUTE;
const SWEEP_BATCH = 5_000;
const MAX_COUNTERS = 100_000;
const MAX_BATCH = 1_000;

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * Counts requests in memory and shares the counts through Postgres, so that no request costs a round trip.
 *
 * A counter is the last known shared total plus this process's own hits since. Hits are written in one statement at
 * most every 100 ms, which returns the new totals. A limit can thus be exceeded by what the other processes admit within one
 * such interval and one round trip: with N processes at most N times the limit, in a burst that fits into that time.
 *
 * Store available → unavailable: a flush fails; hits stay in memory and each process limits by itself; a warning and a gauge report it.
 * Unavailable → available: the next flush that succeeds (tried every second while there are hits) writes all of them.
 */
@Injectable()
export class SharedThrottleStorage implements ThrottlerStorage, OnModuleDestroy {
  private readonly logger = new Logger('Throttling');
  private readonly counters = new WindowCounters(MAX_COUNTERS);
  private readonly sweeper = setInterval(() => void this.sweep(), SWEEP_MS).unref();
  private readonly failures;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private available = true;

  constructor(
    private readonly repository: ThrottleHitsRepository,
    private readonly clock: Clock,
    metrics: Metrics,
  ) {
    this.failures = metrics.counter({
      name: 'throttle_store_failures_total',
      help: 'Flushes of rate limit counters that failed',
    });
    metrics.gauge({ name: 'throttle_store_available', help: '0 while each process limits by itself' }, () =>
      this.available ? 1 : 0,
    );
    metrics.gauge({ name: 'throttle_counters', help: 'Rate limit counters in memory' }, () => this.counters.size);
  }

  /** The counter of the current window, to be read with `hitsOf`. */
  counter(key: string, windowMs: number, nowMs: number): WindowCounter {
    return this.counters.current(key, windowMs, nowMs);
  }

  hit(counter: WindowCounter): void {
    this.counters.hit(counter);
    if (this.running === undefined) this.schedule(FLUSH_MS);
  }

  /** The interface of @nestjs/throttler, for routes with its decorators. Refused requests do not count. */
  increment(key: string, ttlMs: number, limit: number): Promise<ThrottlerRecord> {
    const nowMs = this.clock.now().getTime();
    const counter = this.counter(key, ttlMs, nowMs);
    const isBlocked = hitsOf(counter) >= limit;
    if (!isBlocked) this.hit(counter);
    const seconds = Math.ceil((counter.windowEndMs - nowMs) / SECOND);
    return Promise.resolve({
      totalHits: hitsOf(counter),
      timeToExpire: seconds,
      isBlocked,
      timeToBlockExpire: isBlocked ? seconds : 0,
    });
  }

  /** Writes unflushed hits now and reads the shared totals. Never rejects. */
  flush(): Promise<void> {
    this.running ??= this.flushOnce().finally(() => {
      this.running = undefined;
      if (this.counters.hasUnflushed) this.schedule(this.available ? FLUSH_MS : RETRY_MS);
    });
    return this.running;
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.sweeper);
    await this.running;
    await this.flush();
    clearTimeout(this.timer);
  }

  private schedule(delayMs: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.flush();
    }, delayMs).unref();
  }

  private async flushOnce(): Promise<void> {
    const batch = this.counters.beginFlush(MAX_BATCH);
    if (batch.length === 0) return;
    try {
      const totals = await this.repository.record(batch.map(({ row }) => row));
      this.counters.endFlush(batch, totals);
      this.noteAvailable();
    } catch (error) {
      this.counters.failFlush(batch);
      this.noteUnavailable(error);
    }
  }

  private noteAvailable(): void {
    if (!this.available) this.logger.log('The rate limit store is back; limits are shared again');
    this.available = true;
  }

  private noteUnavailable(error: unknown): void {
    this.failures.inc();
    if (this.available) {
      this.logger.warn(`The rate limit store is away, each process limits by itself: ${reasonOf(error)}`);
    }
    this.available = false;
  }

  private async sweep(): Promise<void> {
    this.counters.sweep(this.clock.now().getTime());
    // Expired rows only cost space; the next run tries again.
    await deleteInBatches(SWEEP_BATCH, (limit) => this.repository.deleteExpired(limit)).catch(() => undefined);
  }
}
