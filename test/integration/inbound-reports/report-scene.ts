import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { Clock, DAY } from '../../../src/common/clock';
import { deriveKey } from '../../../src/common/encryption/encryption';
import { Metrics } from '../../../src/common/metrics/metrics';
import { AppConfig } from '../../../src/config/config';
import { Database } from '../../../src/database/pool/database.service';
import type { DeliveryOutcome } from '../../../src/delivery/ports/outcome';
import { ReturnPath, type ReturnPathTarget } from '../../../src/delivery/tokens/return-path';
import { DomainsModule } from '../../../src/modules/domains/domains.module';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { InboundSmtpModule } from '../../../src/modules/inbound-smtp/inbound-smtp.module';
import { InboundSmtpServer } from '../../../src/modules/inbound-smtp/inbound-smtp.server';
import { ProcessReportsJob } from '../../../src/modules/inbound-reports/processing/process-reports.job';
import { FakeClock } from '../../doubles/fake-clock';
import { recordedOutcome } from '../../factories/outcomes';
import { contextOf, type Core, processOf, testConfig } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';

export const MAIL_HOST = 'mail.waybill.test';
/** Nothing is sent there. */
const NO_HOP = 9;

/** The role `inbound` as another process of the same installation. */
async function startInbound({ db, core }: DeliveryScene, env: Record<string, string>): Promise<Core> {
  const config = testConfig({ INBOUND_SMTP_PORT: '0', ...env });
  const options = { config, databaseUrl: db.url, clock: core.get(Clock), runJobs: true };
  return contextOf(await processOf({ ...options, imports: [DomainsModule, InboundSmtpModule] }).compile());
}

/** A tenant whose mail is reported on: the listener, and workers that process reports on request. */
export class ReportScene {
  private constructor(
    readonly delivery: DeliveryScene,
    readonly clock: FakeClock,
    private readonly inbound: Core,
    readonly worker: Core,
    private readonly port: number,
  ) {}

  static async open(env: Record<string, string> = {}): Promise<ReportScene> {
    const clock = new FakeClock(new Date());
    const delivery = await DeliveryScene.open(clock);
    const inbound = await startInbound(delivery, env);
    const worker = await delivery.startWorker({ hopPort: NO_HOP, isRunning: false });
    const port = await inbound.get(InboundSmtpServer).listen();
    return new ReportScene(delivery, clock, inbound, worker, port);
  }

  /** The return path of one of the tenant's mails. */
  async returnPathOf(emailId: string, target: Partial<ReturnPathTarget> = {}): Promise<string> {
    const { organizationId } = this.delivery.tenant;
    const ordinals = await this.delivery.core.get(OrganizationsService).ordinalsOf([organizationId]);
    const key = deriveKey(this.delivery.core.get(AppConfig).masterKey, 'return-path');
    const full = { organizationOrdinal: ordinals.get(organizationId)!, mode: 'live', emailId, position: 0, ...target };
    const expiresAt = new Date(this.clock.now().getTime() + 34 * DAY);
    return `${new ReturnPath(key, this.clock).issue(full as ReturnPathTarget, expiresAt)}@${MAIL_HOST}`;
  }

  /** Tells what became of a mail before. */
  async tell(emailId: string, outcome: DeliveryOutcome, position = 0): Promise<void> {
    const { core, tenant } = this.delivery;
    const recorded = recordedOutcome(tenant, emailId, outcome, { occurredAt: this.clock.now(), position });
    await core.get(Database).transaction((tx) => core.get(OutcomeRecorder).record([recorded], tx));
  }

  /** Sends one message, text or its bytes, to the listener; returns its last reply. */
  async post(message: string | Buffer, recipient: string, sender = ''): Promise<string> {
    const bytes = Buffer.from(message).toString('latin1');
    const client = await RawSmtpClient.greeted(this.port);
    try {
      await client.command(`MAIL FROM:<${sender}>`);
      const reply = await client.command(`RCPT TO:<${recipient}>`);
      if (!reply.startsWith('250')) return reply;
      await client.command('DATA');
      return await client.send(Buffer.from(`${bytes.replace(/^\./gm, '..')}\r\n.\r\n`, 'latin1')).reply();
    } finally {
      client.close();
    }
  }

  async workOff(worker = this.worker): Promise<void> {
    await worker.get(ProcessReportsJob).processOpen();
  }

  /** Posts a report that must be taken and works it off; returns what it turned out to be. */
  async report(message: string, recipient: string, sender?: string): Promise<string | null> {
    expect(await this.post(message, recipient, sender)).toMatch(/^250 /);
    await this.workOff();
    const table = /^[bu]\+/i.test(recipient) ? 'inbound_reports' : 'feedback_reports';
    const rows = await this.delivery.db.query(`select disposition from ${table} order by id desc limit 1`);
    return rows[0]?.disposition;
  }

  /** Types of the events of an email that reports led to. */
  async reportedEvents(emailId: string): Promise<string[]> {
    const { events } = await this.delivery.read(emailId);
    return events
      .filter(({ source }) => ['dsn', 'feedback_loop', 'tracking'].includes(source))
      .map(({ event_type }) => event_type);
  }

  suppressions(): Promise<Record<string, unknown>[]> {
    return this.delivery.db.query('select email, reason, source from suppressions order by email, reason');
  }

  /** The value of a worker's sample, 0 when there is none. */
  async count(sample: string, core = this.worker): Promise<number> {
    const text = await core.get(Metrics).registry.metrics();
    const line = text.split('\n').find((each) => each.startsWith(`waybill_${sample} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  }

  async close(): Promise<void> {
    await this.inbound.close();
    await this.delivery.close();
  }
}
