import { type DynamicModule, Global, Logger, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { JobLeases, JobStore } from '../common/jobs/periodic-jobs';
import { AppConfig } from '../config/config';
import { BackfillRun, MasterKeyInUse } from './installation/installation.entity';
import { BackfillRunsRepository, JobStoreRepository, MasterKeyRecord } from './installation/installation.repository';
import { BackfillsJob } from './installation/backfills.job';
import { ClockReadings, PoolMetrics } from './pool/database.metrics';
import { dataSourceOptions } from './pool/data-source';
import { Distribution } from './pool/distribution.service';
import { Database, DatabaseUrl } from './pool/database.service';
import { TenantDataSource, type TenantDataSourceOptions } from './pool/tenant-data-source';
import { PlannerStatistics } from './pool/planner-statistics';
import { ReadDatabase } from './pool/read-database.service';

type OnPool = (pool: Promise<DataSource>) => void;

/** The connection pool and the statement runner, known to every module of a process. */
@Global()
@Module({})
export class DatabaseModule {
  /**
   * @param url of a Postgres 14+ whose schema is up to date.
   * @param onPool gets each pool that is opened: only an application that has come up closes its own.
   */
  static register(url: string, applicationName = 'waybill', onPool: OnPool = () => undefined): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [typeOrmOf(url, applicationName, onPool), TypeOrmModule.forFeature([BackfillRun, MasterKeyInUse])],
      providers: [
        Database,
        ClockReadings,
        Distribution,
        MasterKeyRecord,
        JobStoreRepository,
        PoolMetrics,
        BackfillRunsRepository,
        BackfillsJob,
        PlannerStatistics,
        ReadDatabase,
        { provide: JobLeases, useExisting: JobStoreRepository },
        { provide: JobStore, useExisting: JobStoreRepository },
        {
          provide: DatabaseUrl,
          inject: [AppConfig],
          useFactory: ({ database }: AppConfig) => new DatabaseUrl(url, database.directUrl),
        },
      ],
      exports: [
        Database,
        DatabaseUrl,
        JobLeases,
        JobStore,
        BackfillsJob,
        MasterKeyRecord,
        PlannerStatistics,
        ReadDatabase,
      ],
    };
  }
}

function typeOrmOf(url: string, applicationName: string, onPool: OnPool): DynamicModule {
  const logger = new Logger('Database');
  return TypeOrmModule.forRootAsync({
    inject: [AppConfig],
    dataSourceFactory: (options) => {
      const pool = new TenantDataSource(options as TenantDataSourceOptions).initialize();
      onPool(pool);
      return pool;
    },
    useFactory: (config: AppConfig) => ({
      ...dataSourceOptions(url, {
        poolSize: config.database.poolSize,
        connectTimeoutMs: config.database.connectTimeoutMs,
        applicationName,
        onPoolError: (error) => logger.warn(`An idle connection was lost: ${error.message}`),
      }),
      rowLevelSecurity: config.database.rowLevelSecurity,
      autoLoadEntities: true,
      retryAttempts: 10,
      retryDelay: 1_000,
    }),
  });
}
