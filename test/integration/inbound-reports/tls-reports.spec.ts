import { DAY, HOUR } from '../../../src/common/clock';
import { TlsReportsService } from '../../../src/modules/domains/aggregate-reports/aggregate-reports.service';
import { tlsReportJson, type TlsReportFields, tlsReportMail } from '../../factories/tls-reports';
import { MAIL_HOST, ReportScene } from './report-scene';

const ADDRESS = `tls-reports@${MAIL_HOST}`;

describe('a report on TLS (RFC 8460)', () => {
  let scene: ReportScene;
  beforeAll(async () => {
    scene = await ReportScene.open();
  });
  afterEach(() => scene.delivery.db.query('delete from feedback_reports; delete from tls_results'));
  afterAll(() => scene.close());

  const mail = (fields: Partial<TlsReportFields> = {}) => {
    const end = new Date(scene.clock.now().getTime() - HOUR);
    const begin = new Date(end.getTime() - DAY);
    return tlsReportMail(tlsReportJson({ domain: scene.delivery.tenant.domain, begin, end, ...fields }));
  };
  const view = () => {
    const { organizationId, domainId } = scene.delivery.tenant;
    return scene.worker.get(TlsReportsService).view(organizationId, domainId, 30);
  };

  it('is added up for its domain, once, failures first', async () => {
    const failures = [{ type: 'certificate-expired', count: 7, mxHost: 'mx1.acme.example' }];
    expect(await scene.report(mail({ failures }), ADDRESS)).toBe('tls-report');
    expect(await scene.report(`X-Again: yes\r\n${mail({ failures })}`, ADDRESS)).toBe('tls-report');
    await scene.report(mail({ reporter: 'other.example', succeeded: 4 }), ADDRESS);
    expect(await scene.report(mail({ reporter: 'third.example' }), `dmarc@${MAIL_HOST}`)).toMatch(/^ignored:/);
    expect(await view()).toEqual({
      ...{ reports: 2, reporters: 2 },
      results: [
        { policyType: 'sts', result: 'certificate-expired', mxHost: 'mx1.acme.example', sessions: 7 },
        { policyType: 'sts', result: 'success', mxHost: '', sessions: 5_330 },
      ],
    });
    const kept = await scene.delivery.db.query('select distinct length(raw) from feedback_reports');
    expect(kept).toEqual([{ length: 0 }]);
  });

  it('is kept for no domain but ours, and for no other time', async () => {
    expect(await scene.report(mail({ domain: 'stranger.example' }), ADDRESS)).toBe('ignored:tls-report-domain');
    const begin = new Date('2030-01-01T00:00:00Z');
    const future = mail({ begin, end: new Date(begin.getTime() + DAY) });
    expect(await scene.report(future, ADDRESS)).toBe('ignored:tls-report-time');
    expect(await view()).toEqual({ reports: 0, reporters: 0, results: [] });
  });

  it('goes after 400 days', async () => {
    await scene.report(mail(), ADDRESS);
    const reports = scene.worker.get(TlsReportsService);
    expect(await reports.deleteOld(400, 10)).toBe(0);
    await scene.delivery.db.query("update tls_results set received_at = now() - interval '401 days'");
    expect(await reports.deleteOld(400, 10)).toBe(1);
  });
});
