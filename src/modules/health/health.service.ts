import { Injectable, ServiceUnavailableException } from '@nestjs/common';
import { HealthCheckService } from '@nestjs/terminus';
import { Clock } from '../../common/clock';
import type { DiskHealth } from '../../common/disk-space';
import type { RowSecurity } from '../../database/statements/row-security';
import type { DatabaseHealth } from './database-probe';
import type { ReplicaHealth } from '../../database/pool/read-database.service';
import {
  type ClockHealth,
  DatabaseHealthIndicator,
  HostHealthIndicator,
  ProcessHealthIndicator,
  type QueueHealth,
  QueueHealthIndicator,
  type SmtpHealth,
} from './health-indicators';

/** The process runs. */
export interface Liveness {
  readonly status: 'ok';
  readonly timestamp: string;
  readonly service: 'waybill';
}

/** Whether the process should be sent requests. */
export interface Readiness {
  readonly status: 'ready' | 'not_ready';
  readonly timestamp: string;
  readonly database: DatabaseHealth;
}

/** `ok`, `degraded` (mail is accepted but may be late) or `unhealthy` (the database is away). */
export interface HealthReport {
  readonly status: 'ok' | 'degraded' | 'unhealthy';
  readonly timestamp: string;
  /** Seconds since the process started. */
  readonly uptime: number;
  /** Bytes. */
  readonly memory: { readonly rss: number; readonly heapUsed: number; readonly heapTotal: number };
  readonly services: {
    readonly database: DatabaseHealth;
    readonly queue: QueueHealth;
    readonly clock: ClockHealth;
    /** The disks that this process writes to. */
    readonly disk: DiskHealth;
    /** Whether the database itself keeps requests to their tenant. */
    readonly rowLevelSecurity: RowSecurity['state'];
    /** Other processes use a master key that this one lacks; absent otherwise. */
    readonly masterKey?: { readonly healthy: false };
    /** The relay that all mail goes to; absent in other modes. */
    readonly smtp?: SmtpHealth;
    /** The replica from which lists, statistics and exports are read; absent without DATABASE_READ_URL. */
    readonly replica?: ReplicaHealth;
    /** Running worker processes of the whole installation; absent when it could not be measured. */
    readonly workers?: number;
  };
  readonly environment: { readonly nodeVersion: string; readonly platform: string; readonly arch: string };
}

/** Queries the indicators and converts their results to the documented responses. */
@Injectable()
export class HealthService {
  constructor(
    private readonly checks: HealthCheckService,
    private readonly database: DatabaseHealthIndicator,
    private readonly queue: QueueHealthIndicator,
    private readonly host: HostHealthIndicator,
    private readonly running: ProcessHealthIndicator,
    private readonly clock: Clock,
  ) {}

  /** Queries nothing: a process must not be restarted because its database is unavailable. */
  live(): Liveness {
    return { status: 'ok', timestamp: this.timestamp(), service: 'waybill' };
  }

  async ready(): Promise<Readiness> {
    const checks = this.checks.check([() => this.database.check(), () => this.running.check()]);
    const { status, details } = await outcomeOf(checks);
    return {
      status: status === 'ok' ? 'ready' : 'not_ready',
      timestamp: this.timestamp(),
      database: details.database.health,
    };
  }

  async report(): Promise<HealthReport> {
    const checks = this.checks.check([
      () => this.database.check(),
      () => this.queue.check(),
      () => this.queue.relay(),
      () => this.host.clock(),
      () => this.host.disk(),
      () => this.host.replica(),
      () => this.host.masterKey(),
      () => this.running.check(),
    ]);
    const { status, details } = await outcomeOf(checks);
    const { database, queue, smtp, clock: time, disk, replica, masterKey } = details;
    const works = status === 'ok' ? 'ok' : 'degraded';
    return {
      status: database.health.healthy ? works : 'unhealthy',
      timestamp: this.timestamp(),
      uptime: Math.round(process.uptime()),
      memory: memory(),
      services: {
        database: database.health,
        queue: queue.health,
        clock: time.health,
        disk: disk.health,
        rowLevelSecurity: this.database.rowSecurityState,
        ...(!masterKey.known && { masterKey: { healthy: false } }),
        ...(smtp.health && { smtp: smtp.health }),
        ...(replica.health && { replica: replica.health }),
        ...(queue.workers !== undefined && { workers: queue.workers }),
      },
      environment: { nodeVersion: process.version, platform: process.platform, arch: process.arch },
    };
  }

  private timestamp(): string {
    return this.clock.now().toISOString();
  }
}

function memory(): HealthReport['memory'] {
  const { rss, heapUsed, heapTotal } = process.memoryUsage();
  return { rss, heapUsed, heapTotal };
}

/** Unwraps Terminus: its exception for a failed check holds the same result that it returns for a passed one. */
async function outcomeOf<T>(check: Promise<T>): Promise<T> {
  try {
    return await check;
  } catch (error) {
    if (error instanceof ServiceUnavailableException) return error.getResponse() as T;
    throw error;
  }
}
