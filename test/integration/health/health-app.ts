import 'reflect-metadata';
import { type DynamicModule, Global, Module } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Draining } from '../../../src/common/http/draining';
import { ErrorFilter } from '../../../src/common/http/error-response';
import { createHttpAdapter } from '../../../src/common/http/http-server';
import { Metrics } from '../../../src/common/metrics/metrics';
import { ConfigModule } from '../../../src/config/config.module';
import { loadConfig } from '../../../src/config/load-config';
import { DatabaseModule } from '../../../src/database/database.module';
import { translateDatabaseError } from '../../../src/database/database-errors';
import { HealthModule } from '../../../src/modules/health/health.module';

/** What the root module of a process provides. */
@Global()
@Module({})
class Process {
  static register(databaseUrl: string, poolSize: number, draining: Draining): DynamicModule {
    const config = loadConfig({ MASTER_KEY: Buffer.alloc(32).toString('base64'), DATABASE_POOL_SIZE: `${poolSize}` });
    return {
      module: Process,
      imports: [ConfigModule.register(config), DatabaseModule.register(databaseUrl), HealthModule],
      providers: [
        { provide: Draining, useValue: draining },
        { provide: Metrics, useValue: new Metrics() },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
      exports: [Draining, Metrics],
    };
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

export interface HealthApp {
  readonly app: NestExpressApplication;
  readonly draining: Draining;
  get(path: string): Promise<Answer>;
}

/** The health routes over HTTP, on a pool of the given size. */
export async function startHealthApp(databaseUrl: string, poolSize = 2): Promise<HealthApp> {
  const draining = new Draining();
  const adapter = createHttpAdapter({ draining, translateError: translateDatabaseError });
  const app = await NestFactory.create<NestExpressApplication>(
    Process.register(databaseUrl, poolSize, draining),
    adapter,
    { logger: false },
  );
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const get = async (path: string): Promise<Answer> => {
    const response = await fetch(url + path);
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  return { app, draining, get };
}
