import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { tlsReportJson, tlsReportMail } from '../../../../test/factories/tls-reports';
import { parseTlsReport, readTlsReport } from './tls-report';

const FIELDS = {
  domain: 'company-y.example',
  begin: new Date('2026-04-01T00:00:00Z'),
  end: new Date('2026-04-01T23:59:59Z'),
  failures: [
    { type: 'certificate-expired', count: 100, mxHost: 'MX1.company-y.example' },
    { type: 'starttls-not-supported', count: 3 },
  ],
};
const JSON_TEXT = tlsReportJson(FIELDS);
const mail = (data: Buffer | string, type?: string) => Buffer.from(tlsReportMail(data, type), 'latin1');

describe('a report on TLS', () => {
  it('is read', async () => {
    const report = await readTlsReport(mail(JSON_TEXT));
    expect(report).toEqual({
      ...{ reporter: 'Company-X', reportId: '5065427c-23d3', begin: FIELDS.begin, end: FIELDS.end },
      domains: new Map([
        [
          'company-y.example',
          [
            { policyType: 'sts', result: 'success', mxHost: '', sessions: 5_326 },
            { policyType: 'sts', result: 'certificate-expired', mxHost: 'mx1.company-y.example', sessions: 100 },
            { policyType: 'sts', result: 'starttls-not-supported', mxHost: '', sessions: 3 },
          ],
        ],
      ]),
    });
    expect(await readTlsReport(mail(Buffer.from(JSON_TEXT), 'application/tlsrpt+json'))).toEqual(report);
  });

  it.each<[string, Buffer]>([
    ['a bomb', gzipSync(`${JSON_TEXT}${' '.repeat(50_000_000)}`)],
    ['half of an archive', gzipSync(JSON_TEXT).subarray(0, 100)],
    ['an archive of words', gzipSync('hello')],
    ['nothing', Buffer.alloc(0)],
  ])('is none when the attachment is %s', async (_what, data) => {
    expect(await readTlsReport(mail(data))).toBeUndefined();
  });

  it.each([
    ['no reporter', { 'organization-name': undefined, 'contact-info': undefined }],
    ['no id', { 'report-id': 7 }],
    ['no period', { 'date-range': {} }],
    [
      'a period that ends before it begins',
      { 'date-range': { 'start-datetime': '2026-04-02T00:00:00Z', 'end-datetime': '2026-04-01T00:00:00Z' } },
    ],
    ['no policies', { policies: {} }],
  ])('is none with %s', (_what, fields) => {
    expect(parseTlsReport(JSON.stringify({ ...JSON.parse(JSON_TEXT), ...fields }))).toBeUndefined();
  });

  it.each([
    ['is nested as no report is', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
    ['has as many names as no report has', `{${Array.from({ length: 40_000 }, (_, at) => `"k${at}":1`).join(',')}}`],
  ])('is not parsed when it %s', (_what, text) => {
    const parse = jest.spyOn(JSON, 'parse');
    expect(parseTlsReport(text)).toBeUndefined();
    expect(parse).not.toHaveBeenCalledWith(text);
  });

  it('counts no more than it may, and nothing that is no number', () => {
    const failures = [-1, 0.5, 1e12].map((count) => ({ type: 'validation-failure', count }));
    const long = Array.from({ length: 1_000 }, () => ({ type: 'validation-failure', count: 1 }));
    const results = parseTlsReport(tlsReportJson({ ...FIELDS, failures: [...failures, ...long] }))?.domains.get(
      FIELDS.domain,
    );
    expect(results).toHaveLength(1 + 500 - failures.length);
  });

  it('is read or not, whatever the JSON is', () => {
    const odd = fc.jsonValue({ maxDepth: 4 });
    const whole = fc.tuple(fc.constantFrom(...Object.keys(JSON.parse(JSON_TEXT) as object)), odd);
    fc.assert(
      fc.property(whole, ([key, value]) => {
        const report = parseTlsReport(JSON.stringify({ ...JSON.parse(JSON_TEXT), [key]: value }));
        for (const results of report?.domains.values() ?? []) {
          expect(results.every(({ sessions }) => Number.isSafeInteger(sessions) && sessions > 0)).toBe(true);
        }
      }),
    );
  });
});
