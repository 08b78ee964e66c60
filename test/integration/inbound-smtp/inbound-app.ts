import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConsoleLogger } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import type { Organization } from '../../../src/auth/organizations/organization.entity';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { DAY } from '../../../src/common/clock';
import { domainOf } from '../../../src/common/mail-address';
import { deriveKey } from '../../../src/common/encryption/encryption';
import { Metrics } from '../../../src/common/metrics/metrics';
import { AppConfig } from '../../../src/config/config';
import { loadConfig } from '../../../src/config/load-config';
import { ReturnPath, type ReturnPathTarget } from '../../../src/delivery/tokens/return-path';
import { InboundLimits } from '../../../src/modules/inbound-smtp/inbound-limits';
import { InboundSmtpModule } from '../../../src/modules/inbound-smtp/inbound-smtp.module';
import { InboundSmtpServer } from '../../../src/modules/inbound-smtp/inbound-smtp.server';
import { DeleteOldReportsJob } from '../../../src/modules/inbound-reports/queue/delete-old-reports.job';
import { InboundReportLimits } from '../../../src/modules/inbound-reports/queue/inbound-reports.service';
import { InboundRoutesService } from '../../../src/modules/inbound-mail/routes/inbound-routes.service';
import { FakeClock } from '../../doubles/fake-clock';
import { addDomain } from '../../factories/tenants';
import { processOf } from '../../setup/core-context';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { RawSmtpClient } from './raw-smtp-client';

export const MAIL_HOST = 'mail.example.org';

export interface StoredReport {
  organization_id: string;
  mode: string;
  email_id: string;
  position: number;
  digest: Buffer;
  raw: Buffer;
}

class SilentLogger extends ConsoleLogger {
  protected override printMessages(): void {}
}

type Limits = Partial<InboundLimits & InboundReportLimits>;

/** The bounce listener on a database of its own, with one organization. */
export class InboundApp {
  private readonly clients: RawSmtpClient[] = [];
  private readonly returnPath: ReturnPath;

  private constructor(
    private readonly module: TestingModule,
    private readonly database: TestDatabase,
    readonly port: number,
    readonly clock: FakeClock,
    readonly organization: Organization,
  ) {
    this.returnPath = new ReturnPath(deriveKey(module.get(AppConfig).masterKey, 'return-path'), clock);
  }

  static async start(limits: Limits = {}, env: Record<string, string> = {}): Promise<InboundApp> {
    const database = await createTestDatabase();
    const clock = new FakeClock(new Date());
    const config = loadConfig({
      DATABASE_URL: database.url,
      MASTER_KEY: randomBytes(32).toString('base64'),
      WAYBILL_DATA_DIR: join(tmpdir(), 'waybill-inbound'),
      INBOUND_SMTP_PORT: '0',
      MAIL_HOST,
      ...env,
    });
    const options = { config, databaseUrl: database.url, clock, runJobs: true };
    const module = await processOf({ ...options, imports: [InboundSmtpModule] })
      .setLogger(new SilentLogger())
      .overrideProvider(InboundLimits)
      // All clients of a test have one address.
      .useValue(Object.assign(new InboundLimits(), { maxConnectionsOfClient: 200 }, limits))
      .overrideProvider(InboundReportLimits)
      .useValue(Object.assign(new InboundReportLimits(), limits))
      .compile();
    await module.init();
    const organizations = module.get(OrganizationsService, { strict: false });
    const organization = await organizations.get((await organizations.create('Example')).id);
    const listening = module.get(InboundSmtpServer).listen();
    const port = await listening.catch(async (error: unknown) => {
      await module.close();
      await database.drop();
      throw error;
    });
    return new InboundApp(module, database, port, clock, organization);
  }

  get dataSource(): DataSource {
    return this.module.get(DataSource);
  }

  get organizations(): OrganizationsService {
    return this.module.get(OrganizationsService, { strict: false });
  }

  deleteOld(): Promise<number> {
    return this.module.get(DeleteOldReportsJob).deleteOld();
  }

  dropDatabase(): Promise<void> {
    return this.database.drop();
  }

  /** Makes mail to an address inbound mail of the organization. */
  async route(address: string): Promise<string> {
    const { id: organizationId } = this.organization;
    await addDomain(this.dataSource, organizationId, { domain: domainOf(address) });
    await this.module
      .get(InboundRoutesService, { strict: false })
      .create({ organizationId, actor: 'test' }, { address });
    return address;
  }

  /** The local part of a genuine return path. */
  issue(target: Partial<ReturnPathTarget> = {}, days = 30, returnPath = this.returnPath): string {
    const full = {
      organizationOrdinal: this.organization.ordinal,
      mode: 'live',
      emailId: EMAIL_ID,
      position: 0,
      ...target,
    } as const;
    return returnPath.issue(full, new Date(this.clock.now().getTime() + days * DAY));
  }

  /** A client in a connection of its own that has said EHLO. */
  async client(): Promise<RawSmtpClient> {
    const client = await RawSmtpClient.greeted(this.port);
    this.clients.push(client);
    return client;
  }

  /** A client that has said EHLO, MAIL from the null sender and RCPT to these addresses. */
  async transaction(...recipients: readonly string[]): Promise<RawSmtpClient> {
    const client = await this.client();
    await client.command('MAIL FROM:<>');
    for (const recipient of recipients) expect(await client.command(`RCPT TO:<${recipient}>`)).toMatch(/^250 /);
    return client;
  }

  /** Sends one message in a connection of its own; returns the reply to its end of data. */
  async deliver(message: string, ...recipients: readonly string[]): Promise<string> {
    const client = await this.transaction(...recipients);
    await client.command('DATA');
    return client.send(`${message}\r\n.\r\n`).reply();
  }

  reports(): Promise<StoredReport[]> {
    return this.dataSource.query('select * from inbound_reports order by id');
  }

  /** Mail to public mailboxes. */
  feedback(): Promise<{ mailbox: string; raw: Buffer }[]> {
    return this.dataSource.query('select mailbox, raw from feedback_reports order by id');
  }

  /** The value of a metric's sample, 0 when there is none. */
  async count(sample: string): Promise<number> {
    const text = await this.module.get(Metrics).registry.metrics();
    const line = text.split('\n').find((each) => each.startsWith(`waybill_${sample} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  }

  async close(): Promise<void> {
    for (const client of this.clients) client.close();
    await this.module.close();
    await this.database.drop();
  }
}

export const EMAIL_ID = '0192f3a0-1111-7abc-8def-0123456789ab';
