import { DAY, HOUR } from '../../../src/common/clock';
import { DmarcReportsService } from '../../../src/modules/domains/aggregate-reports/aggregate-reports.service';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { dmarcMail, type DmarcFields, dmarcXml } from '../../factories/dmarc-reports';
import { MAIL_HOST, ReportScene } from './report-scene';

const ADDRESS = `dmarc@${MAIL_HOST}`;

describe('a DMARC report', () => {
  let scene: ReportScene;
  let domain: string;
  beforeAll(async () => {
    scene = await ReportScene.open();
    ({ domain } = scene.delivery.tenant);
  });
  afterEach(() => scene.delivery.db.query('delete from feedback_reports; delete from dmarc_sources'));
  afterAll(() => scene.close());

  const xml = (fields: Partial<DmarcFields>) => {
    const end = new Date(scene.clock.now().getTime() - HOUR);
    const begin = new Date(end.getTime() - DAY);
    return dmarcXml({ domain, begin, end, records: [{ ip: '192.0.2.25', count: 90 }], ...fields });
  };
  const view = () => {
    const { organizationId, domainId } = scene.delivery.tenant;
    return scene.worker.get(DmarcReportsService).view(organizationId, domainId, 30);
  };

  it('is added up for its domain', async () => {
    const records = [
      { ip: '192.0.2.25', count: 60 },
      { ip: '192.0.2.25', count: 30 },
      { ip: '192.0.2.25', count: 5, spf: 'fail' as const },
      { ip: '2001:db8::1', count: 7, dkim: 'fail' as const, spf: 'fail' as const, disposition: 'quarantine' },
    ];
    expect(await scene.report(dmarcMail(xml({ records })), ADDRESS, 'noreply@google.com')).toBe('dmarc');
    expect(await scene.report(dmarcMail(xml({ reporter: 'yahoo.com' })), ADDRESS)).toBe('dmarc');
    const { totals, sources, recommendation } = await view();
    expect(totals).toMatchObject({ reports: 2, reporters: 2, policy: 'none', messages: 192, passed: 185 });
    expect(sources).toEqual([
      { sourceIp: '2001:db8::1', messages: 7, dkimAligned: 0, spfAligned: 0, passed: 0, refused: 7 },
      { sourceIp: '192.0.2.25', messages: 185, dkimAligned: 185, spfAligned: 180, passed: 185, refused: 0 },
    ]);
    expect(recommendation.code).toBe('wait');
  });

  it('counts once, however often it comes', async () => {
    for (const subject of ['', 'X-Again: yes\r\n']) await scene.report(`${subject}${dmarcMail(xml({}))}`, ADDRESS);
    expect((await view()).totals).toMatchObject({ reports: 1, messages: 90 });
  });

  it('is kept for no domain but those that it is about', async () => {
    expect(await scene.report(dmarcMail(xml({ domain: 'stranger.example' })), ADDRESS)).toBe('ignored:dmarc-domain');
    const records = [{ ip: '192.0.2.25', count: 1, headerFrom: domain }];
    // One who publishes a policy of his own says nothing of ours.
    expect(await scene.report(dmarcMail(xml({ domain: 'stranger.example', records })), ADDRESS)).toBe(
      'ignored:dmarc-domain',
    );
    expect((await view()).totals.messages).toBe(0);
  });

  it('counts names below for the nearest verified domain, to which the policy applies too', async () => {
    const { organizationId } = scene.delivery.tenant;
    const domains = scene.delivery.core.get(DomainsService);
    const { id: own } = await domains.add(organizationId, `mail.${domain}`);
    await domains.markVerified(organizationId, own);
    const forged = Array.from({ length: 25 }, (_, at) => ({
      ip: '192.0.2.66',
      count: 1,
      headerFrom: `n${at}.${domain}`,
    }));
    const records = [
      ...forged,
      { ip: '192.0.2.25', count: 10 },
      {
        ip: '2001:DB8:0:0:0:0:0:1',
        count: 3,
        headerFrom: `pay.${domain}`,
        dkim: 'fail' as const,
        spf: 'fail' as const,
      },
      { ip: '192.0.2.25', count: 7, headerFrom: `eu.mail.${domain}` },
    ];
    await scene.report(dmarcMail(xml({ records: records.slice(25) })), ADDRESS);
    const { sources } = await view();
    expect(sources.map(({ sourceIp, messages }) => [sourceIp, messages])).toEqual([
      ['2001:db8::1', 3],
      ['192.0.2.25', 10],
    ]);
    const below = await scene.worker.get(DmarcReportsService).view(organizationId, own, 30);
    expect(below.totals).toMatchObject({ messages: 7, passed: 7 });
    // The domain itself counts, however many names a forger has put before it.
    await scene.report(dmarcMail(xml({ records, reporter: 'yahoo.com' })), ADDRESS);
    expect((await view()).totals.messages).toBe(13 + 10 + 19);
  });

  it('is unpacked at its own address only', async () => {
    for (const mailbox of ['postmaster', 'abuse', 'fbl']) {
      expect(await scene.report(dmarcMail(xml({})), `${mailbox}@${MAIL_HOST}`)).toBe('ignored:not-a-report');
    }
    expect((await view()).totals.reports).toBe(0);
  });

  it('of another time is left alone', async () => {
    const begin = new Date('2030-01-01T00:00:00Z');
    const mail = dmarcMail(xml({ begin, end: new Date(begin.getTime() + DAY) }));
    expect(await scene.report(mail, ADDRESS)).toBe('ignored:dmarc-time');
  });

  it('leaves nothing of the message behind, and words are no report', async () => {
    await scene.report(dmarcMail(xml({})), ADDRESS);
    expect(await scene.delivery.db.query('select mailbox, length(raw) from feedback_reports')).toEqual([
      { mailbox: 'dmarc', length: 0 },
    ]);
    expect(await scene.report('Subject: hello\r\n\r\nhello', ADDRESS)).toMatch(/^ignored:/);
  });

  it('goes after 400 days', async () => {
    await scene.report(dmarcMail(xml({})), ADDRESS);
    const reports = scene.worker.get(DmarcReportsService);
    expect(await reports.deleteOld(400, 10)).toBe(0);
    await scene.delivery.db.query("update dmarc_sources set received_at = now() - interval '401 days'");
    expect(await reports.deleteOld(400, 10)).toBe(1);
  });

  /** Reports of a forger, of so many sources each. */
  const forge = (reports: number, sources: number) => {
    const { organizationId, domainId } = scene.delivery.tenant;
    return scene.delivery.db.query(`
      insert into dmarc_sources
        (organization_id, domain_id, reporter, report_id, source_ip, dkim, spf, disposition, policy, begins_at, ends_at, messages)
      select '${organizationId}', '${domainId}', 'forger', n::text, '192.0.2.' || s, true, true, 'none', 'none', now(), now(), 1
      from generate_series(1, ${reports}) n, generate_series(1, ${sources}) s`);
  };

  it('a flood of them ends at 200 a day', async () => {
    await forge(200, 1);
    await scene.report(dmarcMail(xml({})), ADDRESS);
    expect((await view()).totals.messages).toBe(200);
  });

  it('sources of a day end at 2,500, and the largest are kept', async () => {
    await forge(12, 208);
    const records = [3, 90, 2, 80, 70].map((messages, at) => ({ ip: `198.51.100.${at}`, count: messages }));
    await scene.report(dmarcMail(xml({ records })), ADDRESS);
    expect((await view()).totals).toMatchObject({ reports: 13, messages: 12 * 208 + 90 + 80 + 70 + 3 });
    await scene.report(dmarcMail(xml({ reporter: 'yahoo.com' })), ADDRESS);
    expect((await view()).totals).toMatchObject({ reports: 13 });
  });
});

it('DMARC_REPORT_ADDRESS may be any address', async () => {
  const scene = await ReportScene.open({ DMARC_REPORT_ADDRESS: 'Reports@dmarc.example' });
  expect(await scene.post(dmarcMail(''), 'reports@DMARC.example')).toMatch(/^250 /);
  expect(await scene.post(dmarcMail(''), 'others@dmarc.example')).toMatch(/^550 /);
  await scene.close();
});
