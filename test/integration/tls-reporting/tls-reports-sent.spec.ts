import { gunzipSync } from 'node:zlib';
import { NodeDnsResolver } from '../../../src/common/dns/node-dns-resolver';
import { EGRESS_LIMITS, EgressClient } from '../../../src/common/egress/egress-client';
import { PublicEgressGuard } from '../../../src/common/egress/egress-guard';
import type { MtaStsState } from '../../../src/delivery/tls/mta-sts.service';
import { PolicyRouter } from '../../../src/delivery/tls/policy-router';
import { CountTlsSessionsJob } from '../../../src/delivery/tls/tls.job';
import { TlsSessionCounts } from '../../../src/delivery/tls/tls-session-counts';
import { TlsRepository, type SessionCount } from '../../../src/delivery/tls/tls.repository';
import { parseTlsReport, readTlsReport } from '../../../src/modules/inbound-reports/parsing/tls-report';
import { buildReport } from '../../../src/modules/tls-reporting/build-report';
import { ReportTlsJob } from '../../../src/modules/tls-reporting/report-tls.job';
import { DnsServer } from '../../doubles/dns-server';
import { FakeClock } from '../../doubles/fake-clock';
import { PortRouter } from '../../doubles/port-router';
import { SmtpSink } from '../../doubles/smtp-sink';
import { TEST_CERTIFICATE } from '../../doubles/tls-certificate';
import { WebhookReceiver } from '../../doubles/webhook-receiver';
import type { Core } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

const asking = (...uris: string[]) => ({ TXT: [`v=TLSRPTv1; rua=${uris.join(',')}`] });

describe('reports on TLS to the domains that mail went to', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;
  let dns: DnsServer;
  let worker: Core;
  /** Of all destinations. */
  let mtaSts: MtaStsState = {};

  beforeAll(async () => {
    scene = await DeliveryScene.open(new FakeClock());
    dns = await DnsServer.start({ '_smtp._tls.x.example': asking('mailto:tls@x.example') });
    sink = await SmtpSink.start({ startTls: 'offer' });
    const env = {
      TLS_REPORT_ORGANIZATION: 'Example Inc.',
      TLS_REPORT_CONTACT: `postmaster@${scene.tenant.domain}`,
      DNS_SERVERS: dns.endpoint,
      ALLOW_PRIVATE_DESTINATIONS: 'true',
    };
    const router = new PolicyRouter(new PortRouter(() => ({ port: sink.port })), {
      policyOf: () => Promise.resolve(mtaSts),
    });
    const guard = new PublicEgressGuard(new NodeDnsResolver({ servers: [dns.endpoint] }), {
      allowLoopback: false,
      allowPrivate: true,
    });
    const egressClient = new EgressClient(guard, { ...EGRESS_LIMITS, authorities: TEST_CERTIFICATE.cert });
    worker = await scene.startWorker({ hopPort: sink.port, router, env, egressClient });
  });
  afterEach(async () => {
    mtaSts = {};
    await scene.db.query('delete from tls_sessions');
  });
  afterAll(async () => {
    await scene.close();
    await sink.stop();
    await dns.stop();
  });

  const rows = () =>
    scene.db.query('select domain, policy_type, result, sessions::int from tls_sessions order by domain');
  const aDayLater = () => scene.db.query('update tls_sessions set day = day - 1');
  const deliver = async (to: string) => scene.readWhenStatus(await scene.accept({ to: [to] }), 'delivered');
  const counted = { domain: 'x.example', policy_type: 'no-policy-found', result: 'success', sessions: 1 };

  it('count connections, not mails, and only to domains that request reports', async () => {
    // What ran before counts as well.
    worker.get(TlsSessionCounts).take();
    await deliver('ada@quiet.example');
    await deliver('ada@x.example');
    await deliver('bob@x.example');
    await worker.get(CountTlsSessionsJob).run();
    // The job itself may be at it.
    const written = await waitFor(async () => (await rows()).length > 0 && rows(), { what: 'the counts' });
    expect(written).toEqual([counted]);
  });

  it('are mailed on the day after, once, by the owner of the contact', async () => {
    await count(3);
    const job = worker.get(ReportTlsJob);
    await job.run();
    expect(await rows()).toHaveLength(1);
    await aDayLater();
    sink.clear();
    await Promise.all([job.run(), job.run()]);
    expect(await rows()).toEqual([]);
    const [mail, ...others] = await sink.waitForMessages(1);
    expect([mail?.recipients, others]).toEqual([['tls@x.example'], []]);
    const content = mail?.content ?? Buffer.alloc(0);
    expect(content.toString('latin1')).toMatch(/^DKIM-Signature:[^]*\r\nTLS-Report-Domain: x\.example\r\n/);
    const report = await readTlsReport(content);
    expect(report).toMatchObject({ reporter: 'Example Inc.' });
    expect(report?.domains.get('x.example')).toEqual([
      { policyType: 'no-policy-found', result: 'success', mxHost: '', sessions: 3 },
    ]);
  });

  it.each([
    ['whose certificate no authority vouches for', 'misnamed.example', 'mx.misnamed.example'],
    ['that the policy does not name', 'diverted.example', 'mx.elsewhere.example'],
  ])('reach a host %s, unlike all other mail', async (_what, domain, mx) => {
    dns.set({ [`_smtp._tls.${domain}`]: asking(`mailto:tls@${domain}`) });
    mtaSts = { policy: { mode: 'enforce', mx: [mx] } };
    sink.clear();
    const others = [
      await scene.accept({ to: [`ada@${domain}`], from: `postmaster@${scene.tenant.domain}` }),
      await scene.accept({ to: [`ada@${domain}`], tags: ['tls-report'] }),
    ];
    await count(2, domain);
    await aDayLater();
    await worker.get(ReportTlsJob).run();
    const [mail] = await sink.waitForMessages(1);
    expect(mail).toMatchObject({ recipients: [`tls@${domain}`], tls: true });
    for (const id of others) {
      const { events } = await scene.readWhen(
        id,
        ({ events: all }) => all.some(({ event_type: type }) => type === 'deferred'),
        'the deferral',
      );
      expect(events.at(-1)).toMatchObject({ data: { reason: 'policy', policy: 'mta-sts' } });
    }
    expect(sink.messages).toHaveLength(1);
  });

  it('are posted where the domain requests that, and one address that accepts them is enough', async () => {
    const receiver = await WebhookReceiver.start({ status: 201 }, { tls: true });
    dns.set({
      [TEST_CERTIFICATE.hostName]: { A: ['127.0.0.1'] },
      '_smtp._tls.x.example': asking(
        'https://127.0.0.1:1/away',
        receiver.url('/tls-reports?v=1', TEST_CERTIFICATE.hostName),
      ),
    });
    const lines = ['version: STSv1', 'mode: enforce', 'mx: mx.x.example', 'max_age: 86400'];
    const sts = { policyType: 'sts', policy: lines.join('\n') } as const;
    await count(1, 'x.example', { ...sts, policy: 'version: STSv1\nmode: testing' });
    await count(1, 'x.example', sts);
    // A worker of the previous release records no policies, and one that has just started may not either.
    await count(1, 'x.example', { ...sts, policy: '' });
    await aDayLater();
    sink.clear();
    await worker.get(ReportTlsJob).run();
    // What the mail to other domains before came to may only now be written.
    const left = (await rows()).filter(({ domain }) => domain === 'x.example');
    expect([left, sink.messages]).toEqual([[], []]);
    const [post, ...others] = receiver.received;
    expect(post).toMatchObject({
      path: '/tls-reports?v=1',
      headers: { 'content-type': 'application/tlsrpt+gzip', host: `${TEST_CERTIFICATE.hostName}:${receiver.port}` },
    });
    const json = gunzipSync(post?.content ?? Buffer.alloc(0)).toString();
    expect([parseTlsReport(json)?.domains.get('x.example'), others]).toEqual([
      [{ policyType: 'sts', result: 'success', mxHost: '', sessions: 3 }],
      [],
    ]);
    expect(JSON.parse(json)).toMatchObject({ policies: [{ policy: { 'policy-string': lines } }] });
    await receiver.stop();
  });

  it('are tried again when they are not taken where they are posted', async () => {
    // The job may only now have written what the deliveries above came to.
    worker.get(TlsSessionCounts).take();
    await scene.db.query('delete from tls_sessions');
    dns.set({ '_smtp._tls.x.example': asking('https://127.0.0.1:1/reports') });
    await count(1);
    await aDayLater();
    await worker.get(ReportTlsJob).run();
    expect(await rows()).toHaveLength(1);
    expect(await worker.get(TlsRepository).removeOldTlsSessions()).toBe(0);
    await scene.db.query('update tls_sessions set day = day - 3');
    expect(await worker.get(TlsRepository).removeOldTlsSessions()).toBe(1);
  });

  it('are not sent when no domain requests them any more', async () => {
    dns.set({ '_smtp._tls.x.example': {} });
    await count(1);
    await aDayLater();
    sink.clear();
    await worker.get(ReportTlsJob).run();
    expect([await rows(), sink.messages]).toEqual([[], []]);
  });

  it('count for a domain whose record could not be looked up for a while', async () => {
    const connect = async () => {
      const kind = { policyType: 'no-policy-found', result: 'success', policy: '' } as const;
      const ends = { mxHost: '', sendingIp: '', receivingIp: '' };
      worker.get(TlsSessionCounts).add({ domain: 'later.example', ...kind, ...ends, sessions: 1 });
      await worker.get(CountTlsSessionsJob).run();
      // Connections of the mail before are counted with it.
      return (await rows()).filter(({ domain }) => domain === 'later.example');
    };
    dns.set({ '_smtp._tls.later.example': 'servfail' });
    expect(await connect()).toEqual([]);
    dns.set({ '_smtp._tls.later.example': asking('mailto:tls@later.example') });
    expect(await connect()).toEqual([{ ...counted, domain: 'later.example' }]);
  });

  async function count(
    sessions: number,
    domain = 'x.example',
    judged: Pick<SessionCount, 'policyType' | 'policy'> = { policyType: 'no-policy-found', policy: '' },
  ): Promise<void> {
    const where = { mxHost: '', sendingIp: '', receivingIp: '' };
    await worker.get(TlsRepository).addTlsSessions([{ domain, result: 'success', ...judged, ...where, sessions }]);
  }
});

it('a report is what RFC 8460 says it is', () => {
  const base = { domain: 'x.example', policyType: 'sts', sendingIp: '192.0.2.1', receivingIp: '192.0.2.2' } as const;
  const policy = ['version: STSv1', 'mode: enforce', 'mx: mx.x.example', 'mx: *.y.example', 'max_age: 86400'];
  const changed = ['version: STSv1', 'mode: none', 'max_age: 86400'];
  const own = { ...base, policy: policy.join('\n') };
  const tlsa = { ...base, policyType: 'tlsa', policy: '2 0 1 00FF\n3 1 1 0123', result: 'success' } as const;
  const built = buildReport(
    { day: '2026-01-31', domain: 'x.example' },
    [
      { ...own, result: 'success', mxHost: '', sessions: 7 },
      { ...own, result: 'certificate-expired', mxHost: 'mx.x.example', sessions: 2 },
      { ...base, policy: changed.join('\n'), result: 'success', mxHost: '', sessions: 1 },
      { ...base, policy: '', result: 'sts-policy-fetch-error', mxHost: 'mx.x.example', sessions: 4 },
      { ...tlsa, mxHost: 'mx.x.example', sessions: 3 },
      { ...tlsa, mxHost: 'mx2.x.example', sessions: 3 },
    ],
    { organization: 'Example Inc.', contact: 'tls@example.org' },
    'mail.example.org',
  );
  expect(built.fileName).toBe('example.org!x.example!1769817600!1769903999.json.gz');
  const json = gunzipSync(built.gzip).toString();
  const report = parseTlsReport(json);
  expect(report).toMatchObject({ reportId: built.id, begin: new Date('2026-01-31T00:00:00Z') });
  // A msg-id (RFC 5322 section 3.6.4).
  expect(built.id).toMatch(/^[\w-]+(?:\.[\w-]+)*@[\w-]+(?:\.[\w-]+)*$/);
  expect(report?.domains.get('x.example')).toContainEqual({
    ...{ policyType: 'sts', result: 'certificate-expired', mxHost: 'mx.x.example', sessions: 2 },
  });
  const { policies } = JSON.parse(json) as { policies: unknown[] };
  const summary = (successful: number, failed: number) => ({
    'total-successful-session-count': successful,
    'total-failure-session-count': failed,
  });
  const named = { 'policy-type': 'sts', 'policy-domain': 'x.example' };
  const detail = {
    'sending-mta-ip': '192.0.2.1',
    'receiving-mx-hostname': 'mx.x.example',
    'receiving-ip': '192.0.2.2',
  };
  expect(policies).toEqual([
    {
      policy: { ...named, 'policy-string': policy, 'mx-host': ['mx.x.example', '*.y.example'] },
      summary: summary(7, 2),
      'failure-details': [{ ...detail, 'result-type': 'certificate-expired', 'failed-session-count': 2 }],
    },
    { policy: { ...named, 'policy-string': changed }, summary: summary(1, 0) },
    {
      policy: named,
      summary: summary(0, 4),
      'failure-details': [{ ...detail, 'result-type': 'sts-policy-fetch-error', 'failed-session-count': 4 }],
    },
    {
      policy: { ...named, 'policy-type': 'tlsa', 'policy-string': ['2 0 1 00FF', '3 1 1 0123'] },
      summary: summary(6, 0),
    },
  ]);
});
