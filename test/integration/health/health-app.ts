import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ProcessModule } from '../../../src/bootstrap/process.module';
import { Draining } from '../../../src/common/http/server/draining';
import { ErrorFilter } from '../../../src/common/http/responses/error-response';
import { createHttpAdapter } from '../../../src/common/http/server/http-server';
import { loadConfig } from '../../../src/config/load-config';
import { translateDatabaseError } from '../../../src/database/statements/database-errors';
import { HealthModule } from '../../../src/modules/health/health.module';

const FILTER = { provide: APP_FILTER, useClass: ErrorFilter };

@Module({ imports: [HealthModule], providers: [FILTER] })
class HealthTestModule {}

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
  const config = loadConfig({ MASTER_KEY: Buffer.alloc(32).toString('base64'), DATABASE_POOL_SIZE: `${poolSize}` });
  const module = ProcessModule.register({ config, databaseUrl, draining, imports: [HealthTestModule] });
  const app = await NestFactory.create<NestExpressApplication>(module, adapter, { logger: false });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const get = async (path: string): Promise<Answer> => {
    const response = await fetch(url + path);
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  return { app, draining, get };
}
