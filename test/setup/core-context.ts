import { Global, Module, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { tmpdir } from 'node:os';
import { AuthModule } from '../../src/auth/auth.module';
import { type Clock, SystemClock } from '../../src/common/clock';
import { JobsModule } from '../../src/common/jobs/jobs.module';
import { Metrics } from '../../src/common/metrics/metrics';
import type { AppConfig } from '../../src/config/config';
import { ConfigModule } from '../../src/config/config.module';
import { loadConfig } from '../../src/config/load-config';
import { DatabaseModule } from '../../src/database/database.module';
import { DeliveryQueueModule } from '../../src/delivery/queue/delivery-queue.module';
import { DomainsModule } from '../../src/modules/domains/domains.module';
import { EmailsModule } from '../../src/modules/emails/emails.module';
import { EventsModule } from '../../src/modules/events/events.module';
import { StatsModule } from '../../src/modules/stats/stats.module';
import { SuppressionsModule } from '../../src/modules/suppressions/suppressions.module';

const CORE = [
  AuthModule,
  DomainsModule,
  EmailsModule,
  EventsModule,
  StatsModule,
  SuppressionsModule,
  DeliveryQueueModule,
];

/** The global modules of a process's root module. */
@Global()
@Module({ providers: [Metrics], exports: [Metrics] })
export class FloorModule {}

/** Background jobs are registered and do not run. */
export const QUIET_JOBS = JobsModule.register({ run: false });

export interface CoreOptions {
  readonly clock?: Clock;
  /** Environment variables in addition to a test's defaults. */
  readonly env?: Record<string, string>;
}

export interface Core {
  /** Starts the background work of a context that was created without `isRunning`. */
  start(): Promise<unknown>;
  get<T>(type: Type<T> | (abstract new (...args: never[]) => T)): T;
  close(): Promise<void>;
}

/** The configuration of a test: a fixed master key, no files. */
export function testConfig(env: Record<string, string> = {}): AppConfig {
  const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
  return loadConfig({ MASTER_KEY, WAYBILL_DATA_DIR: tmpdir(), LOG_LEVEL: 'silent', ...env });
}

/** The services behind the API on a database, without HTTP and without a worker; stands for one process. */
export async function startCore(url: string, { clock = new SystemClock(), env }: CoreOptions = {}): Promise<Core> {
  const floors = [ConfigModule.register(testConfig(env), clock), DatabaseModule.register(url), FloorModule, QUIET_JOBS];
  return contextOf(await Test.createTestingModule({ imports: [...floors, ...CORE] }).compile());
}

/** A context that does not log; without `isRunning` its background work is not started. */
export async function contextOf(module: TestingModule, isRunning = true): Promise<Core> {
  module.useLogger(false);
  if (isRunning) await module.init();
  return {
    start: () => module.init(),
    get: (type) => module.get(type, { strict: false }),
    close: () => module.close(),
  };
}
