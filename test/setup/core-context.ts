import type { Type } from '@nestjs/common';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import { tmpdir } from 'node:os';
import { AuthModule } from '../../src/auth/auth.module';
import { ProcessModule, type ProcessOptions } from '../../src/bootstrap/process.module';
import type { Clock } from '../../src/common/clock';
import type { DiskSpace } from '../../src/common/disk-space';
import type { AppConfig } from '../../src/config/config';
import { loadConfig } from '../../src/config/load-config';
import { DeliveryQueueModule } from '../../src/delivery/delivery.module';
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

export interface CoreOptions {
  readonly clock?: Clock;
  /** Environment variables in addition to a test's defaults. */
  readonly env?: Record<string, string>;
  readonly disk?: DiskSpace;
}

export interface Core {
  /** Starts the background work of a context that was created without `isRunning`. */
  start(): Promise<unknown>;
  get<T>(type: Type<T> | (abstract new (...args: never[]) => T)): T;
  close(): Promise<void>;
}

/** For a connection: on a machine with much else to do the two seconds of the service are over at times. */
const CONNECT_TIMEOUT_MS = 15_000;

/** The configuration of a test: a fixed master key, no files. */
export function testConfig(env: Record<string, string> = {}): AppConfig {
  const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
  const config = loadConfig({ MASTER_KEY, WAYBILL_DATA_DIR: tmpdir(), LOG_LEVEL: 'silent', ...env });
  return Object.assign(config, { database: { ...config.database, connectTimeoutMs: CONNECT_TIMEOUT_MS } });
}

/** The services behind the API on a database, without HTTP and without a worker; stands for one process. */
export async function startCore(databaseUrl: string, { clock, env }: CoreOptions = {}): Promise<Core> {
  return contextOf(await processOf({ config: testConfig(env), databaseUrl, clock, imports: CORE }).compile());
}

/** A process of these modules, to be compiled after what a test replaces in it. */
export function processOf(options: ProcessOptions): TestingModuleBuilder {
  return Test.createTestingModule({ imports: [ProcessModule.register(options)] });
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
