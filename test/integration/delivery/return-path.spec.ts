import { Clock } from '../../../src/common/clock';
import { DomainsModule } from '../../../src/modules/domains/domains.module';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { InboundSmtpModule } from '../../../src/modules/inbound-smtp/inbound-smtp.module';
import { InboundSmtpServer } from '../../../src/modules/inbound-smtp/inbound-smtp.server';
import { SmtpSink } from '../../doubles/smtp-sink';
import type { SinkMessage } from '../../doubles/smtp-sink';
import { verifyDkim } from '../../e2e/kit/verify-dkim';
import { contextOf, type Core, processOf, testConfig } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';

const OWN = /^b\+[a-z2-7]{55}@mail\.waybill\.test$/;

describe('the return path', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
    sink = await SmtpSink.start();
  });
  afterEach(() => scene.clear());
  afterAll(async () => {
    await scene.close();
    await sink.stop();
  });

  /** Sends one email through a worker that has not seen the domain before. */
  async function sendFrom(from: string): Promise<{ id: string; message: SinkMessage }> {
    const id = await scene.accept({ from });
    const worker = await scene.startWorker({ hopPort: sink.port });
    await scene.readWhenStatus(id, 'sent');
    await worker.close();
    return { id, message: sink.messages.at(-1)! };
  }

  async function verifiedReturnPath(domain: string): Promise<void> {
    await scene.db.query('update domains set return_path_verified = true where domain = $1', [domain]);
  }

  it('is ours until the domain has one, then the domain’s own, and the signature holds in both cases', async () => {
    const before = await sendFrom('ada@acme.example');
    await verifiedReturnPath('acme.example');
    const after = await sendFrom('ada@acme.example');
    expect(before.message.from).toMatch(OWN);
    expect(after.message.from).toMatch(/^b\+[a-z2-7]{55}@bounce\.acme\.example$/);
    for (const { message } of [before, after]) {
      expect(await verifyDkim(message.content, scene.db.url)).toMatchObject([
        { result: 'pass', domain: 'acme.example' },
      ]);
    }
  });

  it('takes reports at the domain’s own host to the delivery they are about', async () => {
    await verifiedReturnPath('acme.example');
    const { id, message } = await sendFrom('ada@acme.example');
    const inbound = await startInbound(scene);
    const client = await RawSmtpClient.greeted(await inbound.get(InboundSmtpServer).listen());
    await client.command('MAIL FROM:<>');
    expect(await client.command(`RCPT TO:<${message.from}>`)).toMatch(/^250 /);
    await client.command('DATA');
    expect(await client.send('Subject: Undelivered\r\n\r\nNo such user.\r\n.\r\n').reply()).toMatch(/^250 /);
    client.close();
    await inbound.close();
    const { organizationId } = scene.tenant;
    expect(await scene.db.query('select organization_id, mode, email_id, position from inbound_reports')).toEqual([
      { organization_id: organizationId, mode: 'live', email_id: id, position: 0 },
    ]);
  });

  it('stays ours for a domain whose name leaves no room for the token', async () => {
    const domain = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(10)}.example`;
    const domains = scene.core.get(DomainsService);
    await domains.add(scene.tenant.organizationId, domain);
    await domains.markVerified(scene.tenant.organizationId, domain);
    await verifiedReturnPath(domain);
    expect((await sendFrom(`ada@${domain}`)).message.from).toMatch(OWN);
  });
});

/** The role `inbound` as another process of the same installation. */
async function startInbound({ db, core }: DeliveryScene): Promise<Core> {
  const config = testConfig({ INBOUND_SMTP_PORT: '0' });
  const options = { config, databaseUrl: db.url, clock: core.get(Clock), runJobs: true };
  return contextOf(await processOf({ ...options, imports: [DomainsModule, InboundSmtpModule] }).compile());
}
