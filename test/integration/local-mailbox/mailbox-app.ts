import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CanActivate, type ExecutionContext, Injectable, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, NestFactory, Reflector } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { ProcessModule } from '../../../src/bootstrap/process.module';
import { PUBLIC_METADATA } from '../../../src/common/http/scopes';
import { ErrorFilter } from '../../../src/common/http/responses/error-response';
import { createHttpAdapter } from '../../../src/common/http/server/http-server';
import { DtoPipe } from '../../../src/common/http/dto/validate-dto';
import { loadConfig } from '../../../src/config/load-config';
import { translateDatabaseError } from '../../../src/database/statements/database-errors';
import { LocalMailboxModule } from '../../../src/modules/local-mailbox/local-mailbox.module';
import { MailboxSmtpServer } from '../../../src/modules/local-mailbox/mailbox-smtp.server';
import { FakeClock } from '../../doubles/fake-clock';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { exchange } from '../http/raw-client';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';

/** Stands for the guards of the service: callers have no key here. */
@Injectable()
class PublicOnlyGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    return this.reflector.getAllAndOverride(PUBLIC_METADATA, [context.getHandler(), context.getClass()]) === true;
  }
}

export interface ListedMessage {
  id: string;
  receivedAt: string;
  returnPath: string;
  recipients: string[];
  sender: string;
  subject: string;
  size: number;
}

/** The mailbox with its listener and its pages, on a database of its own. */
export class MailboxApp {
  private constructor(
    private readonly app: NestExpressApplication,
    private readonly database: TestDatabase,
    readonly clock: FakeClock,
    readonly httpPort: number,
    readonly smtpPort: number,
  ) {}

  static async start(environment: NodeJS.ProcessEnv = {}): Promise<MailboxApp> {
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
      imports: [ProcessModule.register({ config, databaseUrl: database.url, clock, imports: [LocalMailboxModule] })],
      providers: [
        { provide: APP_GUARD, useClass: PublicOnlyGuard },
        { provide: APP_PIPE, useClass: DtoPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    })
    class MailboxTestModule {}

    // Without the guard that would let these routes see everyone's rows.
    const adapter = createHttpAdapter({ translateError: translateDatabaseError, tenantScopes: false });
    const options = { logger: false, abortOnError: false } as const;
    const app = await NestFactory.create<NestExpressApplication>(MailboxTestModule, adapter, options);
    await app.listen(0, '127.0.0.1');
    const { port } = adapter.getHttpServer().address() as AddressInfo;
    return new MailboxApp(app, database, clock, port, await app.get(MailboxSmtpServer).listen());
  }

  get databaseUrl(): string {
    return this.database.url;
  }

  /** The paths of the OpenAPI document. */
  documentedPaths(): string[] {
    return Object.keys(SwaggerModule.createDocument(this.app, new DocumentBuilder().build()).paths);
  }

  listenAgain(): Promise<number> {
    return this.app.get(MailboxSmtpServer).listen();
  }

  query<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.app.get(DataSource).query(text, values);
  }

  /** As a browser on this machine requests it. */
  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.httpPort}${path}`, { headers });
  }

  /** A page that is there, as text. */
  async page(path: string): Promise<string> {
    const response = await this.get(path);
    expect(response.status).toBe(200);
    return response.text();
  }

  /** The status of a request with this Host header. */
  async statusFor(host: string, path = '/mailbox'): Promise<number> {
    const lines = [`GET ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close', '', ''];
    return (await exchange(this.httpPort, lines.join('\r\n'))).status;
  }

  /** Newest first. */
  async messages(): Promise<ListedMessage[]> {
    return (JSON.parse(await this.page('/mailbox/messages.json')) as { data: ListedMessage[] }).data;
  }

  /** Sends one message over SMTP, bytes as they are (dots are stuffed); returns its id. */
  async deliver(message: string | Buffer, recipients: readonly string[] = ['to@example.com']): Promise<string> {
    const client = await RawSmtpClient.greeted(this.smtpPort);
    await client.command('MAIL FROM:<from@example.org> SMTPUTF8');
    for (const recipient of recipients) expect(await client.command(`RCPT TO:<${recipient}>`)).toMatch(/^250 /);
    await client.command('DATA');
    const stuffed = Buffer.from(message).toString('latin1').replace(/^\./gm, '..');
    const reply = await client.send(Buffer.from(`${stuffed}\r\n.\r\n`, 'latin1')).reply();
    client.close();
    return /^250 2\.6\.0 Kept as (\S+)$/.exec(reply)?.[1] ?? reply;
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.database.drop();
  }
}

/** A message of the given fields and body, lines joined with CRLF. */
export function message(fields: readonly string[], body: readonly string[] = []): string {
  return [...fields, '', ...body].join('\r\n');
}

/** A multipart message. Each part is its lines, fields first. */
export function multipart(subtype: string, fields: readonly string[], parts: readonly (readonly string[])[]): string {
  const body = parts.flatMap((part) => ['--edge', ...part]);
  return message([...fields, `Content-Type: multipart/${subtype}; boundary=edge`], [...body, '--edge--']);
}
