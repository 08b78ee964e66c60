import { corpusNames, expectedReports, readCorpus } from '../../../../test/corpus/reports-corpus';
import { loopTurnsOf } from '../../../../test/setup/loop-turns';
import { BUILT_IN_CLASSIFIER } from '../../../delivery/policy/replies/classify-reply';
import { parseReport, parseReportInTurns } from './parse-report';
import type { Report } from './report';

/** A report as it is written down: of the original's bytes only their number. */
function written(report: Report): unknown {
  const raw = report.kind === 'complaint' ? report.original?.raw : undefined;
  return JSON.parse(
    JSON.stringify(raw ? { ...report, original: { ...Object(report).original, raw: raw.length } } : report),
  );
}

describe('parseReport on the corpus', () => {
  it('has an expectation for every message, and at least sixty of them', () => {
    expect(corpusNames()).toEqual(Object.keys(expectedReports()).sort());
    expect(corpusNames().length).toBeGreaterThanOrEqual(60);
  });

  it.each(Object.entries(expectedReports()))('%s', (name, report) => {
    expect(written(parseReport(readCorpus(name)))).toEqual(report);
  });
});

describe('parseReportInTurns', () => {
  it.each(['arf-abuse', 'jmrp-top-level'])('reads %s as parseReport does', async (name) => {
    const message = readCorpus(name);
    expect(await parseReportInTurns(message, BUILT_IN_CLASSIFIER)).toEqual(parseReport(message));
  });

  it('leaves the event loop to others while it searches a long text', async () => {
    const line = `${'user adresse '.repeat(70)}\r\n`;
    const header = 'From: mailer-daemon@example.org\r\nSubject: Undelivered Mail Returned to Sender\r\n\r\n';
    const turns = await loopTurnsOf(async () => {
      const report = await parseReportInTurns(Buffer.from(header + line.repeat(400)), BUILT_IN_CLASSIFIER);
      expect(report).toMatchObject({ kind: 'bounce' });
    });
    // A reading in one turn leaves two.
    expect(turns).toBeGreaterThan(4);
  });
});

describe('the original in a complaint', () => {
  it.each(['arf-abuse', 'arf-headers-only', 'jmrp-attached', 'jmrp-top-level'])(
    'is byte for byte that of %s',
    (name) => {
      const message = readCorpus(name);
      const report = parseReport(message);
      const raw = report.kind === 'complaint' ? report.original?.raw : undefined;
      expect(raw?.includes('Message-ID: <018f@example.com>\r\n')).toBe(true);
      expect(message.includes(raw ?? 'nothing')).toBe(true);
      expect(raw?.includes('--=_bound')).toBe(false);
    },
  );

  it('keeps bytes above ASCII and lines without CR', () => {
    const original = Buffer.from('Subject: caf\xe9\n\n\xff\xfe body\n', 'latin1');
    const report = parseReport(
      Buffer.concat([
        Buffer.from('From: a@example.org\r\nContent-Type: multipart/report; boundary=b\r\n\r\n--b\r\n'),
        Buffer.from('Content-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n\r\n--b\r\n'),
        Buffer.from('Content-Type: message/rfc822\r\n\r\n'),
        original,
        Buffer.from('\r\n--b--\r\n'),
      ]),
    );
    expect(report).toMatchObject({ kind: 'complaint', original: { raw: original, hasBody: true } });
  });
});
