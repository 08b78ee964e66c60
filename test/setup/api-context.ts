import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ApiModule } from '../../src/api.module';
import { ProcessModule } from '../../src/bootstrap/process.module';
import { createHttpAdapter } from '../../src/common/http/server/http-server';
import { translateDatabaseError } from '../../src/database/statements/database-errors';
import { type Core, type CoreOptions, testConfig } from './core-context';

export interface Api extends Pick<Core, 'get' | 'close'> {
  /** On 127.0.0.1. */
  readonly port: number;
}

/** The API role of one process, with its HTTP server. */
export async function startApi(databaseUrl: string, { clock, env, disk }: CoreOptions = {}): Promise<Api> {
  const config = testConfig(env);
  const module = ProcessModule.register({ config, databaseUrl, clock, disk, imports: [ApiModule] });
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
