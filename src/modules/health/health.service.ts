import { Injectable, ServiceUnavailableException } from '@nestjs/common';
import { HealthCheckService } from '@nestjs/terminus';
import { Clock } from '../../common/clock';
import { DatabaseHealthIndicator } from './database.health-indicator';
import type { HealthReport, Liveness, Readiness } from './health-report';
import { ProcessHealthIndicator } from './process.health-indicator';
import { QueueHealthIndicator } from './queue.health-indicator';

/** Asks the indicators and brings their answers into the shape of the contract. */
@Injectable()
export class HealthService {
  constructor(
    private readonly checks: HealthCheckService,
    private readonly database: DatabaseHealthIndicator,
    private readonly queue: QueueHealthIndicator,
    private readonly running: ProcessHealthIndicator,
    private readonly clock: Clock,
  ) {}

  /** Touches nothing: a process is not restarted because its database is away. */
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
      () => this.running.check(),
    ]);
    const { status, details } = await outcomeOf(checks);
    const { database, queue } = details;
    const works = status === 'ok' ? 'ok' : 'degraded';
    return {
      status: database.health.healthy ? works : 'unhealthy',
      timestamp: this.timestamp(),
      uptime: Math.round(process.uptime()),
      memory: memory(),
      services: {
        database: database.health,
        queue: queue.health,
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

/** What Terminus throws when something is down is the same result that it answers when all is up. */
async function outcomeOf<T>(check: Promise<T>): Promise<T> {
  try {
    return await check;
  } catch (error) {
    if (error instanceof ServiceUnavailableException) return error.getResponse() as T;
    throw error;
  }
}
