import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ApiModule } from '../../src/api.module';
import { Draining } from '../../src/common/http/draining';
import { createHttpAdapter } from '../../src/common/http/http-server';
import { ConfigModule } from '../../src/config/config.module';
import { DatabaseModule } from '../../src/database/database.module';
import { translateDatabaseError } from '../../src/database/database-errors';
import { type Core, type CoreOptions, FloorModule, QUIET_JOBS, testConfig } from './core-context';

const DRAINING = { provide: Draining, useValue: new Draining() };

@Global()
@Module({ providers: [DRAINING], exports: [DRAINING] })
class DrainingModule {}

@Module({})
class ApiTestModule {}

export interface Api extends Pick<Core, 'get' | 'close'> {
  /** On 127.0.0.1. */
  readonly port: number;
}

/** The API role of one process, with its HTTP server. */
export async function startApi(databaseUrl: string, { clock, env }: CoreOptions = {}): Promise<Api> {
  const config = testConfig(env);
  const floors = [ConfigModule.register(config, clock), DatabaseModule.register(databaseUrl), FloorModule, QUIET_JOBS];
  const module = { module: ApiTestModule, imports: [...floors, DrainingModule, ApiModule] };
  const { trustProxy } = config.http;
  const adapter = createHttpAdapter({ trustProxy, translateError: translateDatabaseError });
  const app = await NestFactory.create<NestExpressApplication>(module, adapter, { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  return {
    port: (adapter.getHttpServer().address() as AddressInfo).port,
    get: (type) => app.get(type, { strict: false }),
    close: () => app.close(),
  };
}
