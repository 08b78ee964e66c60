import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock, DatabaseClock, MINUTE, SECOND } from '../../common/clock';
import { useClockForIds } from '../../common/ids';
import { Metrics } from '../../common/metrics/metrics';
import { AppConfig } from '../../config/config';
import { poolOf } from './data-source';
import { Database } from './database.service';

/** This process's connections to the database, and who waits for one. */
@Injectable()
export class PoolMetrics {
  constructor(dataSource: DataSource, config: AppConfig, metrics: Metrics) {
    const help = 'Open connections of this process to the database';
    metrics.gauge({ name: 'database_pool_connections', help, labels: ['state'] }, () => {
      const { totalCount, idleCount } = poolOf(dataSource);
      return { used: totalCount - idleCount, idle: idleCount };
    });
    const limit = 'Connections to the database that this process may open (DATABASE_POOL_SIZE)';
    metrics.gauge({ name: 'database_pool_connections_max', help: limit }, () => config.database.poolSize);
    const waiting = 'Statements and transactions of this process that wait for a connection';
    metrics.gauge({ name: 'database_pool_waiting', help: waiting }, () => poolOf(dataSource).waitingCount);
  }
}

const EVERY_MS = 2 * SECOND;
/** A later reading whose round trip took longer is too inexact to replace an earlier one. */
const LONGEST_MS = 2 * SECOND;
/** Readings at the start, while all before have failed. */
const FIRST_READINGS = 3;
/** How often the log says that the clock is wrong: nothing is delivered meanwhile, and the difference may change. */
const SAY_EVERY_MS = MINUTE;

/**
 * Reads the database's clock at the start and every two seconds, and logs when this process's clock contradicts it, then every minute until it is right. The first
 * reading counts however long it took: without one, the process would date what it accepts by its own clock.
 */
@Injectable()
export class ClockReadings implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Clock');
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private releaseIds: (() => void) | undefined;
  private saidAtMs = 0;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {}

  async onModuleInit(): Promise<void> {
    const { clock } = this;
    if (!(clock instanceof DatabaseClock)) return;
    const offset = { name: 'clock_offset_seconds', help: "How far this process's clock is ahead of the database's" };
    this.metrics.gauge(offset, () => (clock.isRead ? clock.offsetMs / SECOND : undefined));
    for (let attempt = 1; !clock.isRead && attempt <= FIRST_READINGS; attempt++) await this.read();
    this.timer = setInterval(() => void this.read(), EVERY_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
    this.releaseIds?.();
  }

  /** Never rejects: without a database the process decides nothing. */
  read(): Promise<void> {
    this.running ??= this.readOnce()
      .catch((error: Error) => this.logger.debug(`The database's clock was not read: ${error.message}`))
      .finally(() => (this.running = undefined));
    return this.running;
  }

  private async readOnce(): Promise<void> {
    const { clock } = this;
    if (!(clock instanceof DatabaseClock)) return;
    const startedMs = clock.monotonicMs();
    const { now: databaseNow } = await this.database.serverFacts();
    const errorMs = (clock.monotonicMs() - startedMs) / 2;
    if (clock.isRead && 2 * errorMs > LONGEST_MS) return;
    const ownNow = new Date(clock.ownNow().getTime() - errorMs);
    const isFirst = !clock.isRead;
    const isChanged = clock.read({ databaseNow, ownNow, monotonicMs: startedMs + errorMs, errorMs });
    if (isFirst) this.releaseIds = useClockForIds(clock);
    const isDue = !clock.isReliable && clock.monotonicMs() - this.saidAtMs >= SAY_EVERY_MS;
    if (isChanged || isDue) this.logState(clock, isFirst);
  }

  private logState(clock: DatabaseClock, isFirst: boolean): void {
    const { isReliable, offsetMs } = clock;
    this.saidAtMs = clock.monotonicMs();
    const seconds = Math.abs(offsetMs / SECOND).toFixed(1);
    if (isReliable) {
      // Expected at the start; later it is the end of an error that was logged.
      return this.logger[isFirst ? 'debug' : 'log'](`The clock agrees with the database's within ${seconds} s`);
    }
    const direction = offsetMs > 0 ? 'ahead of' : 'behind';
    this.logger.error(
      `This process's clock is ${seconds} s ${direction} the database's: it claims and ends nothing until that is repaired`,
    );
  }
}
