import { type DynamicModule, Global, Module } from '@nestjs/common';
import { ApiModule } from './api.module';
import type { ProcessParts } from './bootstrap/start-service';
import { Draining } from './common/http/draining';
import { JobsModule } from './common/jobs/jobs.module';
import { Metrics } from './common/metrics/metrics';
import type { Role } from './config/config';
import { ConfigModule } from './config/config.module';
import { DatabaseModule } from './database/database.module';
import { DkimZoneModule } from './modules/dkim-zone/dkim-zone.module';
import { MasterKeyCheckModule } from './modules/domains/dkim/master-key-check.module';
import { InboundModule } from './modules/inbound/inbound.module';
import { WorkerModule } from './worker.module';

type Imports = NonNullable<DynamicModule['imports']>;

/** What each role adds to a process. */
const MODULES: Record<Role, () => Imports> = {
  api: () => [MasterKeyCheckModule, ApiModule],
  worker: () => [MasterKeyCheckModule, WorkerModule.register()],
  inbound: () => [MasterKeyCheckModule, InboundModule],
  dns: () => [DkimZoneModule],
};

/** One process: what every role needs, and the roles it plays. */
@Global()
@Module({})
export class AppModule {
  static register({ config, databaseUrl, draining, metrics }: ProcessParts): DynamicModule {
    const roles = [...config.roles].flatMap((role) => MODULES[role]());
    return {
      module: AppModule,
      imports: [
        ConfigModule.register(config),
        DatabaseModule.register(databaseUrl),
        JobsModule.register({ run: config.roles.has('worker') }),
        ...roles,
      ],
      providers: [
        { provide: Draining, useValue: draining },
        { provide: Metrics, useValue: metrics },
      ],
      exports: [Draining, Metrics],
    };
  }
}
