import { type DynamicModule, Global, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import type { DataSource } from 'typeorm';
import { Clock, DatabaseClock } from '../common/clock';
import { DiskSpace } from '../common/disk-space';
import { BodyBudget } from '../common/http/request/request-body';
import { Draining } from '../common/http/server/draining';
import { InstallationGauges } from '../common/jobs/installation-gauges';
import { PeriodicJobs, RUNS_JOBS } from '../common/jobs/periodic-jobs';
import { Metrics } from '../common/metrics/metrics';
import { NoTracing, Tracing } from '../common/tracing/tracing';
import { AppConfig } from '../config/config';
import { DatabaseModule } from '../database/database.module';

/** Nest modules, as `imports` takes them. */
export type Modules = NonNullable<DynamicModule['imports']>;

export interface ProcessOptions {
  readonly config: AppConfig;
  /** Of a Postgres 14+ whose schema is up to date. */
  readonly databaseUrl: string;
  /** What this process is for. */
  readonly imports: Modules;
  /** Whether it runs the background jobs that its modules register. Default: it does not. */
  readonly runJobs?: boolean;
  /** `application_name` of its connections to Postgres. */
  readonly applicationName?: string;
  readonly clock?: Clock;
  readonly draining?: Draining;
  readonly metrics?: Metrics;
  /** Default: one of the usual size. */
  readonly bodies?: BodyBudget;
  /** Default: off. */
  readonly tracing?: Tracing;
  /** Default: monitors no disk. */
  readonly disk?: DiskSpace;
}

/** The root module of every process, service and command line: the shared modules and those of its task. */
@Global()
@Module({})
export class ProcessModule {
  static register(options: ProcessOptions, onPool?: (pool: Promise<DataSource>) => void): DynamicModule {
    const { config, databaseUrl, imports, runJobs = false, applicationName } = options;
    const { clock = new DatabaseClock(), draining = new Draining(), metrics = new Metrics() } = options;
    const { bodies = new BodyBudget(config.http.heldBodyBytes) } = options;
    const { tracing = new NoTracing() } = options;
    const { disk = new DiskSpace({ folders: [], reserveBytes: 0 }) } = options;
    return {
      module: ProcessModule,
      imports: [DatabaseModule.register(databaseUrl, applicationName, onPool), ScheduleModule.forRoot(), ...imports],
      providers: [
        InstallationGauges,
        PeriodicJobs,
        { provide: AppConfig, useValue: config },
        { provide: BodyBudget, useValue: bodies },
        { provide: Clock, useValue: clock },
        { provide: DiskSpace, useValue: disk },
        { provide: Draining, useValue: draining },
        { provide: Metrics, useValue: metrics },
        { provide: RUNS_JOBS, useValue: runJobs },
        { provide: Tracing, useValue: tracing },
      ],
      exports: [AppConfig, BodyBudget, Clock, DiskSpace, Draining, InstallationGauges, Metrics, PeriodicJobs, Tracing],
    };
  }
}
