import { type DynamicModule, Global, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { PeriodicJobs, RUNS_JOBS } from './periodic-jobs';

/** Background jobs, known to every module of a process. The database's module provides their leases. */
@Global()
@Module({})
export class JobsModule {
  /** @param options `run`: whether this process runs the jobs that features register (role `worker`) */
  static register({ run }: { readonly run: boolean }): DynamicModule {
    return {
      module: JobsModule,
      imports: [ScheduleModule.forRoot()],
      providers: [PeriodicJobs, { provide: RUNS_JOBS, useValue: run }],
      exports: [PeriodicJobs],
    };
  }
}
