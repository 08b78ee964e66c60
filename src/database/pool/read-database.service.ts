import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { within } from '../../common/async/promises';
import { SECOND } from '../../common/clock';
import { Metrics } from '../../common/metrics/metrics';
import { AppConfig, type DatabaseConfig } from '../../config/config';
import { dataSourceOptions } from './data-source';
import { Database } from './database.service';
import { readLag, readLogEnd, ReplicaOrigin } from './replica-lag';
import type { Statement } from '../statements/statement';
import { TenantDataSource } from './tenant-data-source';

const EVERY_MS = 2 * SECOND;
/** A replica that takes longer to report its lag cannot return lists in time either. */
const ANSWER_MS = 3 * SECOND;

/** So many of the last ones are kept. */
const MARKS = 30;

interface Mark {
  readonly logEnd: string;
  readonly atMs: number;
}

/** `used`; or why reads go to the primary: it is too far `behind`, or `away`. */
export type ReplicaUse = 'used' | 'behind' | 'away';

export interface ReplicaHealth {
  readonly healthy: boolean;
  readonly use: ReplicaUse;
  /** Absent while it is away. */
  readonly lagSeconds?: number;
}

/**
 * For reads that may be slightly out of date: lists, statistics, exports. They use the replica (DATABASE_READ_URL) while it responds and
 * its lag is small enough, which is checked every two seconds; otherwise the primary, and the log, a metric and the health report say so.
 * What is read here must not decide what is written.
 *
 * away → used: it responds, and its lag is small. used → behind → used: by its lag. Any → away: it does not respond.
 */
@Injectable()
export class ReadDatabase implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Replica');
  private readonly settings: DatabaseConfig;
  private source: DataSource | undefined;
  private replica: Database | undefined;
  private use: ReplicaUse = 'away';
  private lagSeconds: number | undefined;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private hasSpoken = false;
  private marks: readonly Mark[] = [];
  /** The primary, as of `readLogEnd`. */
  private server: string | undefined;
  private readonly origin: ReplicaOrigin;

  constructor(
    private readonly primary: Database,
    private readonly dataSource: DataSource,
    config: AppConfig,
    private readonly metrics: Metrics,
  ) {
    this.settings = config.database;
    this.origin = new ReplicaOrigin(primary);
  }

  /** Not waited for: until it has answered, the primary is read. */
  onModuleInit(): void {
    if (this.settings.readUrl === undefined) return;
    const help = 'How far the replica for reads is behind';
    this.metrics.gauge({ name: 'replica_lag_seconds', help }, () => this.lagSeconds);
    const used = 'Whether lists, statistics and exports are read from the replica (1) or from the primary (0)';
    this.metrics.gauge({ name: 'replica_used', help: used }, () => Number(this.use === 'used'));
    void this.check();
    this.timer = setInterval(() => void this.check(), EVERY_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
    await this.source?.destroy();
  }

  /** Undefined without a replica. */
  get health(): ReplicaHealth | undefined {
    if (this.settings.readUrl === undefined) return undefined;
    const { use, lagSeconds } = this;
    return { healthy: use === 'used', use, ...(lagSeconds !== undefined && { lagSeconds }) };
  }

  run<Row>(statement: Statement<Row>): Promise<Row[]> {
    return this.read(
      (replica) => replica.run(statement),
      () => this.primary.run(statement),
    );
  }

  /** Reads by ordinary repositories of the manager. */
  find<T>(reads: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.read(
      (replica) => replica.snapshot(({ manager }) => reads(manager)),
      () => reads(this.dataSource.manager),
    );
  }

  /** Asks the replica how far it is behind. Never rejects. */
  check(): Promise<void> {
    this.running ??= this.checkOnce()
      .catch((error: Error) => this.turn('away', `does not answer (${error.message})`))
      .finally(() => (this.running = undefined));
    return this.running;
  }

  private async read<T>(fromReplica: (replica: Database) => Promise<T>, fromPrimary: () => Promise<T>): Promise<T> {
    if (this.use !== 'used' || !this.replica) return fromPrimary();
    try {
      return await fromReplica(this.replica);
    } catch {
      // Away, no longer let in, or what it replays was in the way of the statement; what is wrong with the statement itself, the
      // primary says too.
      void this.check();
      return fromPrimary();
    }
  }

  private async checkOnce(): Promise<void> {
    const replica = (this.replica ??= await this.connect());
    await this.markLog();
    const logEnds = this.marks.map(({ logEnd }) => logEnd);
    const ages = this.marks.map(({ atMs }) => (performance.now() - atMs) / SECOND);
    const [row] = await within(replica.run(readLag(logEnds, ages)), ANSWER_MS);
    const fault = row && (await within(this.origin.faultOf(replica, row, this.server), ANSWER_MS));
    if (fault === undefined) this.applyLag(row?.lagSeconds ?? Infinity);
    else this.turn('behind', fault);
  }

  private applyLag(lagSeconds: number): void {
    const isNear = lagSeconds <= this.settings.readMaxLagSeconds;
    const isKnown = Number.isFinite(lagSeconds);
    const lag = isKnown ? `is ${lagSeconds.toFixed(0)} s behind` : 'has replayed nothing since its start';
    this.turn(isNear ? 'used' : 'behind', lag, isKnown ? lagSeconds : undefined);
  }

  /** The replica may be there while the primary is away. */
  private async markLog(): Promise<void> {
    const atMs = performance.now();
    // A primary that cannot say is left out.
    const [row] = await this.primary.run(readLogEnd()).catch(() => []);
    this.server = row?.server ?? this.server;
    if (row) this.marks = [...this.marks, { logEnd: row.logEnd, atMs }].slice(-MARKS);
  }

  private async connect(): Promise<Database> {
    const { readUrl = '', poolSize, rowLevelSecurity } = this.settings;
    const entities = this.dataSource.entityMetadatas.map(({ target }) => target as new () => object);
    const options = dataSourceOptions(readUrl, { poolSize, applicationName: 'waybill-read', entities });
    const source = new TenantDataSource({ ...options, rowLevelSecurity });
    this.source = await source.initialize();
    return new Database(this.source);
  }

  private turn(use: ReplicaUse, what: string, lagSeconds?: number): void {
    this.lagSeconds = lagSeconds;
    if (use === this.use && use !== 'away') return;
    const hasChanged = use !== this.use || !this.hasSpoken;
    this.use = use;
    this.hasSpoken = true;
    if (!hasChanged) return;
    if (use === 'used') this.logger.log('Lists, statistics and exports are read from the replica');
    else this.logger.warn(`The replica ${what}: lists, statistics and exports are read from the primary`);
  }
}
