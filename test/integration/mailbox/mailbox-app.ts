import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CanActivate, type ExecutionContext, Injectable, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, NestFactory, Reflector } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { PUBLIC_METADATA } from '../../../src/auth/require-scope.decorator';
import { ErrorFilter } from '../../../src/common/http/error-filter';
import { createHttpAdapter } from '../../../src/common/http/http-server';
import { DtoPipe } from '../../../src/common/http/validate-dto';
import { ConfigModule } from '../../../src/config/config.module';
import { loadConfig } from '../../../src/config/load-config';
import { DatabaseModule } from '../../../src/database/database.module';
import { translateDatabaseError } from '../../../src/database/database-errors';
import { MailboxModule } from '../../../src/modules/mailbox/mailbox.module';
import { MailboxSmtpServer } from '../../../src/modules/mailbox/mailbox-smtp.server';
import { FakeClock } from '../../doubles/fake-clock';
import { createTestDatabase } from '../../setup/test-database';

/** Stands for the guards of the service: nobody here has a key. */
@Injectable()
class PublicOnlyGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    return this.reflector.getAllAndOverride(PUBLIC_METADATA, [context.getHandler(), context.getClass()]) === true;
  }
}

export interface MailboxApp {
  readonly httpPort: number;
  readonly smtpPort: number;
  readonly clock: FakeClock;
  readonly dataSource: DataSource;
  /** A page, as a browser on this machine asks for it. */
  get(path: string): Promise<Response>;
  close(): Promise<void>;
}

/** The mailbox with its listener and its pages, on a database of its own. */
export async function startMailboxApp(environment: NodeJS.ProcessEnv = {}): Promise<MailboxApp> {
  const database = await createTestDatabase();
  const clock = new FakeClock();
  const config = loadConfig({
    DATABASE_URL: database.url,
    MASTER_KEY: randomBytes(32).toString('base64'),
    WAYBILL_DATA_DIR: join(tmpdir(), 'waybill-mailbox'),
    PUBLIC_URL: 'https://mail.example.org',
    ...environment,
  });

  @Module({
    imports: [ConfigModule.register(config, clock), DatabaseModule.register(database.url), MailboxModule],
    providers: [
      { provide: APP_GUARD, useClass: PublicOnlyGuard },
      { provide: APP_PIPE, useClass: DtoPipe },
      { provide: APP_FILTER, useClass: ErrorFilter },
    ],
  })
  class MailboxTestModule {}

  const adapter = createHttpAdapter({ translateError: translateDatabaseError });
  const app = await NestFactory.create(MailboxTestModule, adapter, { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  const { port: httpPort } = adapter.getHttpServer().address() as AddressInfo;
  return {
    httpPort,
    smtpPort: await app.get(MailboxSmtpServer).listen(),
    clock,
    dataSource: app.get(DataSource),
    get: (path) => fetch(`http://127.0.0.1:${httpPort}${path}`),
    close: async () => {
      await app.close();
      await database.drop();
    },
  };
}
