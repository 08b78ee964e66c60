import { type DynamicModule, Global, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { InstallationGauges } from './installation-gauges';
import { PeriodicJobs, RUNS_JOBS } from './periodic-jobs';

/** Background jobs, and what one process shows for all, known to every module. The database's module provides the leases. */
@Global()
@Module({})
export class JobsModule {
  /** @param options `run`: whether this process runs the jobs that features register (role `worker`) */
  static register({ run }: { readonly run: boolean }): DynamicModule {
    return {
      module: JobsModule,
      imports: [ScheduleModule.forRoot()],
      providers: [PeriodicJobs, InstallationGauges, { provide: RUNS_JOBS, useValue: run }],
      exports: [PeriodicJobs, InstallationGauges],
    };
  }
}
