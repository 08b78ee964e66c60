import { gunzipSync } from 'node:zlib';
import { CountTlsSessionsJob } from '../../../src/delivery/tls/count-tls-sessions.job';
import { TlsSessionCounts } from '../../../src/delivery/tls/tls-session-counts';
import { DestinationsRepository } from '../../../src/delivery/shaping/destinations.repository';
import { parseTlsReport, readTlsReport } from '../../../src/modules/inbound/parsing/tls-report';
import { buildReport } from '../../../src/modules/inbound/reporting/build-report';
import { ReportTlsJob } from '../../../src/modules/inbound/reporting/report-tls.job';
import { DnsServer } from '../../doubles/dns-server';
import { FakeClock } from '../../doubles/fake-clock';
import { PortRouter } from '../../doubles/port-router';
import { SmtpSink } from '../../doubles/smtp-sink';
import type { Core } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

const asking = (...uris: string[]) => ({ TXT: [`v=TLSRPTv1; rua=${uris.join(',')}`] });

describe('reports on TLS to the domains that mail went to', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;
  let dns: DnsServer;
  let worker: Core;

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
    worker = await scene.startWorker({ hopPort: sink.port, router: new PortRouter(() => ({ port: sink.port })), env });
  });
  afterEach(() => scene.db.query('delete from tls_sessions'));
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

  it('count connections, not mails, and only to domains that ask', async () => {
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

  it('are posted where the domain asks for that, and tried again when they are not taken', async () => {
    dns.set({ '_smtp._tls.x.example': asking('https://127.0.0.1:1/reports') });
    await count(1);
    await aDayLater();
    await worker.get(ReportTlsJob).run();
    expect(await rows()).toHaveLength(1);
    expect(await worker.get(DestinationsRepository).removeOldTlsSessions()).toBe(0);
    await scene.db.query('update tls_sessions set day = day - 3');
    expect(await worker.get(DestinationsRepository).removeOldTlsSessions()).toBe(1);
  });

  it('go nowhere when nobody asks any more', async () => {
    dns.set({ '_smtp._tls.x.example': {} });
    await count(1);
    await aDayLater();
    sink.clear();
    await worker.get(ReportTlsJob).run();
    expect([await rows(), sink.messages]).toEqual([[], []]);
  });

  async function count(sessions: number): Promise<void> {
    const kind = { domain: 'x.example', policyType: 'no-policy-found', result: 'success' } as const;
    await worker
      .get(DestinationsRepository)
      .addTlsSessions([{ ...kind, mxHost: '', sendingIp: '', receivingIp: '', sessions }]);
  }
});

it('a report is what RFC 8460 says it is', () => {
  const base = { domain: 'x.example', policyType: 'sts', sendingIp: '192.0.2.1', receivingIp: '192.0.2.2' } as const;
  const built = buildReport(
    { day: '2026-01-31', domain: 'x.example' },
    [
      { ...base, result: 'success', mxHost: '', sessions: 7 },
      { ...base, result: 'certificate-expired', mxHost: 'mx.x.example', sessions: 2 },
    ],
    { organization: 'Example Inc.', contact: 'tls@example.org' },
    'mail.example.org',
  );
  expect(built.fileName).toBe('mail.example.org!x.example!1769817600!1769903999.json.gz');
  const report = parseTlsReport(gunzipSync(built.gzip).toString());
  expect(report).toMatchObject({ reportId: built.id, begin: new Date('2026-01-31T00:00:00Z') });
  expect(report?.domains.get('x.example')).toEqual([
    { policyType: 'sts', result: 'success', mxHost: '', sessions: 7 },
    { policyType: 'sts', result: 'certificate-expired', mxHost: 'mx.x.example', sessions: 2 },
  ]);
});
