import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { DnsServer } from '../doubles/dns-server';
import { PolicyWebServer } from '../doubles/policy-web-server';
import { SmtpSink } from '../doubles/smtp-sink';
import { TEST_CERTIFICATE } from '../doubles/tls-certificate';
import { freePort } from '../setup/free-port';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { ApiClient, eventTypes } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';
import { type Tenant, TenantFactory } from './kit/tenant';
import { sha256, verifyDkim } from './kit/verify-dkim';

/** Domains that enforce a policy (MTA-STS), and the exchangers that their MX records name. The sink proves to be the first. */
const EXCHANGERS: Record<string, string> = {
  'proven.example': TEST_CERTIFICATE.hostName,
  'misnamed.example': 'mx.misnamed.example',
  'diverted.example': 'mx.diverted.example',
};
/** What their policies name instead. */
const POLICY: Record<string, string> = { 'diverted.example': 'mx.elsewhere.example' };

let database: TestDatabase;
let tenants: TenantFactory;
let tenant: Tenant;
let sink: SmtpSink;
let dns: DnsServer;
let web: PolicyWebServer;
let workFolder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  tenants = await TenantFactory.open(database.url);
  tenant = await tenants.create('acme.example');
  sink = await SmtpSink.start({ startTls: 'offer', pipelining: true, smtpUtf8: true, eightBitMime: true });
  dns = await DnsServer.start({
    'customer.example': { MX: [[10, 'mx.customer.example']] },
    'mx.customer.example': { A: ['127.0.0.1'] },
    'null-mx.example': { MX: [[0, '.']] },
    'no-mx.example': { A: ['127.0.0.1'] },
    'slow.example': { A: ['127.0.0.1'] },
    'broken.example': 'servfail',
  });
  workFolder = mkdtempSync(join(tmpdir(), 'waybill-e2e-'));
  web = await PolicyWebServer.start(Object.keys(EXCHANGERS));
  for (const [domain, exchanger] of Object.entries(EXCHANGERS)) {
    dns.set({
      [domain]: { MX: [[10, exchanger]] },
      [exchanger]: { A: ['127.0.0.1'] },
      [`_mta-sts.${domain}`]: { TXT: ['v=STSv1; id=1;'] },
      [`mta-sts.${domain}`]: { A: ['127.0.0.1'] },
    });
    web.publish(domain, 'mode: enforce', `mx: ${POLICY[domain] ?? exchanger}`, 'max_age: 86400');
  }
  // What an operator with an authority of his own does.
  writeFileSync(join(workFolder, 'authorities.pem'), `${TEST_CERTIFICATE.cert}\n${web.certificate}`);
});

afterAll(async () => {
  await sink.stop();
  await dns.stop();
  await web.stop();
  await tenants.close();
  await database.drop();
  rmSync(workFolder, { recursive: true });
});

const direct = () => ({
  DATABASE_URL: database.url,
  WAYBILL_DATA_DIR: workFolder,
  DELIVERY_MODE: 'direct',
  MAIL_HOST: 'mail.sender.example',
  SMTP_PORT: String(sink.port),
  DNS_SERVERS: dns.endpoint,
  MTA_STS_PORT: String(web.port),
  NODE_EXTRA_CA_CERTS: join(workFolder, 'authorities.pem'),
  ALLOW_PRIVATE_DESTINATIONS: 'true',
  RATE_LIMIT_ENABLED: 'false',
  WARMUP_ENABLED: 'false',
});

describe('direct delivery', () => {
  let service: ServiceProcess;
  let api: ApiClient;

  beforeAll(async () => {
    service = await ServiceProcess.start(direct());
    api = new ApiClient(service.port, tenant.liveKey);
  });
  afterAll(() => service.stop());

  it('carries a mail with everything from the API to the recipients’ MX, signed', async () => {
    const id = await api.send({
      from: { email: 'billing@acme.example', name: 'Acme “Billing”, Ltd.' },
      to: ['Ada Lovelace <ada@customer.example>', 'bob@customer.example'],
      cc: ['carl@no-mx.example'],
      bcc: ['dora@customer.example'],
      replyTo: 'support@acme.example',
      subject: 'Ihre Rechnung: 12 € — größer',
      html: '<p>Grüße</p>',
      text: 'Grüße\n.\n..dots\nFrom here',
      headers: { 'X-Order': '42' },
      attachments: [
        { filename: 'rechnung ä.txt', content: Buffer.from('total: 12').toString('base64'), contentType: 'text/plain' },
      ],
      tags: ['invoice'],
      metadata: { order: 42 },
    });
    const email = await api.waitForStatus(id, 'delivered');
    await waitFor(async () => (await api.email(id)).recipients.every((one: any) => one.status === 'delivered'), {
      what: 'all four',
    });
    const received = sink.messages.filter((message) => message.content.includes(id));
    expect(received.map((message) => message.recipients[0]).sort()).toEqual([
      'ada@customer.example',
      'bob@customer.example',
      'carl@no-mx.example',
      'dora@customer.example',
    ]);
    expect(new Set(received.map((message) => sha256(message.content))).size).toBe(1);
    expect(new Set(received.map((message) => message.from)).size).toBe(4);
    for (const { from, tls } of received) {
      expect(from).toMatch(/^b\+[a-z2-7]{55}@mail\.sender\.example$/);
      expect(tls).toBe(true);
    }
    const content = received[0]!.content;
    expect(await verifyDkim(content, database.url)).toEqual([
      { result: 'pass', domain: 'acme.example', selector: 'wb1' },
    ]);
    const parsed = await PostalMime.parse(content);
    expect(parsed).toMatchObject({
      subject: 'Ihre Rechnung: 12 € — größer',
      from: { address: 'billing@acme.example', name: 'Acme “Billing”, Ltd.' },
      html: expect.stringContaining('<p>Grüße</p>'),
      text: expect.stringContaining('Grüße\n.\n..dots\nFrom here'),
    });
    expect(parsed.attachments[0]).toMatchObject({ filename: 'rechnung ä.txt', mimeType: 'text/plain' });
    expect(content.toString('latin1')).not.toContain('dora@');
    expect(email).toMatchObject({ fromEmail: 'billing@acme.example', bccEmails: ['dora@customer.example'] });
    expect(eventTypes(email)).toEqual(expect.arrayContaining(['queued', 'sending', 'sent', 'delivered']));
  });

  it('ends each recipient by its own reply, and suppresses the bad address only', async () => {
    const id = await api.send({
      to: ['ok@customer.example', 'rcpt-550-5.1.1+x@customer.example', 'rcpt-550-5.7.1+x@customer.example'],
    });
    const email = await waitFor(
      async () => {
        const now = await api.email(id);
        return now.recipients.every((one: any) => ['delivered', 'bounced'].includes(one.status)) ? now : undefined;
      },
      { what: 'three endings' },
    );
    expect(email.recipients.map((one: any) => one.status)).toEqual(['delivered', 'bounced', 'bounced']);
    expect(email.recipients[1].lastResponse).toMatch(/^550/);
    expect(email.status).toBe('delivered');
    const again = await api.post('/v1/emails', { to: ['rcpt-550-5.1.1+x@customer.example'], subject: 's', text: 't' });
    expect(again).toMatchObject({ status: 422, body: { error: { code: 'recipient_suppressed' } } });
    expect(again.body.error.details.suppressedRecipients).toEqual([
      { email: 'rcpt-550-5.1.1+x@customer.example', reason: 'hard_bounce' },
    ]);
    const mixed = await api.post('/v1/emails', {
      to: ['rcpt-550-5.1.1+x@customer.example', 'rcpt-550-5.7.1+x@customer.example'],
      subject: 's',
      text: 't',
    });
    expect(mixed).toMatchObject({ status: 202, body: { data: { suppressedRecipients: [{ reason: 'hard_bounce' }] } } });
  });

  it('detects domains that accept no mail, and waits for those whose DNS is broken', async () => {
    const [none, nullMx, broken] = await Promise.all([
      api.send({ to: ['a@nowhere-at-all.example'] }),
      api.send({ to: ['a@null-mx.example'] }),
      api.send({ to: ['a@broken.example'] }),
    ]);
    expect((await api.waitForStatus(none, 'bounced')).events.at(-1).eventData).toMatchObject({
      bounceType: 'hard',
      enhancedCode: '5.1.2',
    });
    expect((await api.waitForStatus(nullMx, 'bounced')).events.at(-1).eventData).toMatchObject({
      enhancedCode: '5.1.10',
    });
    const waiting = await api.waitForEvent(broken, 'deferred');
    expect(waiting.status).toBe('sending');
    expect(Date.parse(waiting.recipients[0].nextAttemptAt)).toBeGreaterThan(Date.now());
  });

  it('keeps to the policies of receivers (MTA-STS): a proven host gets the mail, others do not, and the sender learns why', async () => {
    const attemptOf = async (id: string) => (await api.get(`/v1/emails/${id}/attempts`)).body.data[0];
    const send = (domain: string) => api.send({ to: [`ada@${domain}`] });
    const [proven, misnamed, diverted] = await Promise.all(Object.keys(EXCHANGERS).map(send));
    await api.waitForStatus(proven!, 'delivered');
    expect(await attemptOf(proven!)).toMatchObject({
      outcome: 'delivered',
      route: { mxHost: TEST_CERTIFICATE.hostName },
      tls: { policy: 'mta-sts', verified: true },
    });
    for (const [id, explanation] of [
      [misnamed!, /altnames.*mx\.misnamed\.example/],
      [diverted!, /MTA-STS policy names none of its mail exchangers \(mx\.diverted\.example\)/],
    ] as const) {
      const email = await api.waitForEvent(id, 'deferred');
      expect(email.events.at(-1).eventData).toMatchObject({
        reason: 'policy',
        policy: 'mta-sts',
        response: expect.stringMatching(explanation),
      });
      expect(email.recipients[0].waiting).toMatchObject({
        reason: 'retry',
        detail: expect.stringMatching(explanation),
      });
      expect(await attemptOf(id)).toMatchObject({ outcome: 'deferred', reason: 'policy', policy: 'mta-sts' });
      expect(sink.messages.some(({ content }) => content.includes(id))).toBe(false);
    }
  });

  it('distinguishes an unknown outcome from a refusal', async () => {
    const id = await api.send({ to: ['close-after-dot+u@customer.example'] });
    const email = await api.waitForEvent(id, 'unknown');
    expect(email.events.at(-1).eventData).toMatchObject({ reason: 'outcome_unknown', phase: 'final' });
  });

  it('reaches a non-ASCII mailbox only with SMTPUTF8', async () => {
    const id = await api.send({ to: ['grün@customer.example'] });
    await api.waitForStatus(id, 'delivered');
    const message = sink.messages.find((one) => one.content.includes(id))!;
    expect(message.recipients).toEqual(['grün@customer.example']);
    expect(message.parameters.join(' ')).toContain('SMTPUTF8');
  });

  it('keeps scheduled mail until it is due, and lets it be cancelled', async () => {
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
    const id = await api.send({ to: ['later@customer.example'], scheduledAt });
    const scheduled = await api.email(id);
    expect(scheduled).toMatchObject({ status: 'scheduled', scheduledFor: scheduledAt });
    expect(eventTypes(scheduled)).toEqual(['scheduled']);
    expect(await api.post(`/v1/emails/${id}/cancel`)).toMatchObject({
      status: 200,
      body: { data: { id, status: 'failed' } },
    });
    expect(eventTypes(await api.email(id))).toEqual(['scheduled', 'cancelled']);
    expect(await api.post(`/v1/emails/${id}/cancel`)).toMatchObject({
      status: 409,
      body: { error: { code: 'email_not_cancellable' } },
    });
  });
});

describe('a slow destination', () => {
  it('holds up no other tenant', async () => {
    const service = await ServiceProcess.start({ ...direct(), DELIVERY_CONCURRENCY: '20' });
    try {
      const api = new ApiClient(service.port, tenant.liveKey);
      const many = (domain: string) =>
        Array.from({ length: 60 }, (_, index) => ({
          to: [`250-held+${index}@${domain}`],
          subject: 's',
          text: 't',
        }));
      const slow = await api.post('/v1/emails/batch', many('slow.example'));
      await waitFor(() => sink.commands.some((line) => line.includes('slow.example')), {
        what: 'the slow destination',
      });
      const ids = await Promise.all(
        Array.from({ length: 30 }, (_, index) => api.send({ to: [`quick${index}@customer.example`] })),
      );
      await Promise.all(ids.map((id) => api.waitForStatus(id, 'delivered')));
      const statuses = (): Promise<string[]> =>
        Promise.all(slow.body.data.data.map(async (item: any) => (await api.email(item.id)).status));
      expect((await statuses()).filter((status) => status !== 'delivered').length).toBeGreaterThan(20);
      // What stays in the queue would hold the connections of the relay below.
      const released = async () => (sink.release(), (await statuses()).every((status) => status === 'delivered'));
      await waitFor(released, { what: 'the mail to the slow destination' });
    } finally {
      await service.kill('SIGKILL');
    }
  });
});

describe('mail from one tenant to the inbound route of another', () => {
  it('comes in by the service’s own listener, and bounces there where no route takes it', async () => {
    const other = await tenants.create('desk.example');
    dns.set({
      'desk.example': { MX: [[10, 'mail.sender.example']] },
      'strange.example': { MX: [[10, 'mail.sender.example']] },
      'mail.sender.example': { A: ['127.0.0.1'] },
    });
    const inboundPort = String(await freePort());
    const service = await ServiceProcess.start({
      ...direct(),
      SMTP_PORT: inboundPort,
      INBOUND_SMTP_PORT: inboundPort,
    });
    try {
      const api = new ApiClient(service.port, tenant.liveKey);
      const desk = api.as(other.liveKey);
      expect((await desk.post('/v1/inbound-routes', { address: 'help@desk.example' })).status).toBe(201);
      const id = await api.send({
        to: ['help@desk.example', 'nowhere@desk.example', 'x@strange.example'],
        subject: 'A question',
      });
      const email = await waitFor(
        async () => {
          const read = await api.email(id);
          return read.recipients.every(({ status }: any) => ['delivered', 'bounced'].includes(status)) && read;
        },
        { what: 'the end of all three' },
      );
      expect(Object.fromEntries(email.recipients.map(({ email: to, status }: any) => [to, status]))).toEqual({
        'help@desk.example': 'delivered',
        'nowhere@desk.example': 'bounced',
        'x@strange.example': 'bounced',
      });
      const bounces = email.events.filter(({ eventType }: any) => eventType === 'bounced');
      expect(bounces.map(({ eventData }: any) => eventData.enhancedCode).sort()).toEqual(['5.1.1', '5.4.6']);
      const { body } = await desk.get('/v1/inbound-emails');
      expect(body.data).toMatchObject([{ subject: 'A question' }]);
    } finally {
      await service.stop();
    }
  });
});

describe('relay delivery', () => {
  it('hands everything to the relay, with credentials, and ends as sent', async () => {
    const relay = await SmtpSink.start({ users: { waybill: 's3cret' }, authMechanisms: ['PLAIN'] });
    const service = await ServiceProcess.start({
      DATABASE_URL: database.url,
      WAYBILL_DATA_DIR: workFolder,
      DELIVERY_MODE: 'relay',
      RELAY_URL: `smtp://waybill:s3cret@127.0.0.1:${relay.port}`,
      WARMUP_ENABLED: 'false',
    });
    try {
      const api = new ApiClient(service.port, tenant.liveKey);
      const id = await api.send({ to: ['anyone@anywhere.example'] });
      const email = await api.waitForStatus(id, 'sent');
      expect(eventTypes(email)).toEqual(['queued', 'sending', 'sent']);
      expect(relay.messages).toContainEqual(
        expect.objectContaining({ user: 'waybill', recipients: ['anyone@anywhere.example'] }),
      );
      expect(service.describe()).not.toContain('s3cret');
    } finally {
      await service.stop();
      await relay.stop();
    }
  });
});
