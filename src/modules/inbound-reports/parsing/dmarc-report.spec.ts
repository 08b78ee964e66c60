import { Readable } from 'node:stream';
import fc from 'fast-check';
import { dmarcMail, dmarcXml } from '../../../../test/factories/dmarc-reports';
import { zipOf } from '../../../../test/factories/zip';
import { isPlausible, parseDmarcXml, readDmarcReport } from './dmarc-report';

const BEGIN = new Date('2026-03-04T00:00:00Z');
const END = new Date('2026-03-04T23:59:59Z');
const FIELDS = {
  ...{ domain: 'acme.example', begin: BEGIN, end: END, policy: 'none' },
  records: [
    { ip: '192.0.2.25', count: 120 },
    {
      ip: '2001:db8::1',
      count: 3,
      dkim: 'fail',
      spf: 'fail',
      disposition: 'quarantine',
      headerFrom: 'News.acme.example',
    },
  ],
} as const;
const REPORT = {
  ...{ domain: 'acme.example', reporter: 'google.com', reportId: '13190401177475355109' },
  ...{ begin: BEGIN, end: END, policy: 'none' },
  records: [
    { sourceIp: '192.0.2.25', messages: 120, headerFrom: 'acme.example', dkim: true, spf: true, disposition: 'none' },
    {
      ...{ sourceIp: '2001:db8::1', messages: 3, headerFrom: 'news.acme.example' },
      ...{ dkim: false, spf: false, disposition: 'quarantine' },
    },
  ],
};

function inPieces(text: string, size = 7) {
  const bytes = Buffer.from(text);
  const count = Math.ceil(bytes.length / size);
  return Readable.from(Array.from({ length: count }, (_, index) => bytes.subarray(index * size, (index + 1) * size)));
}
const parse = (xml: string) => parseDmarcXml(inPieces(xml));

describe('an aggregate report', () => {
  it('is read in whatever pieces it comes', async () => {
    for (const size of [1, 7, 16_384]) expect(await parseDmarcXml(inPieces(dmarcXml(FIELDS), size))).toEqual(REPORT);
  });

  it('has each address in one form, however a reporter writes it', async () => {
    const written = ['2001:DB8:0:0:0:0:0:1', '2001:db8::1', '::ffff:192.0.2.25'];
    const report = await parse(dmarcXml({ ...FIELDS, records: written.map((ip) => ({ ip, count: 1 })) }));
    expect(report?.records.map(({ sourceIp }) => sourceIp)).toEqual(['2001:db8::1', '2001:db8::1', '192.0.2.25']);
  });

  it.each([
    ['gzip', dmarcMail(dmarcXml(FIELDS))],
    ['zip', dmarcMail(zipOf(Buffer.from(dmarcXml(FIELDS))), 'application/zip', 'a.zip')],
    ['plain XML', dmarcMail(Buffer.from(dmarcXml(FIELDS)), 'text/xml', 'a.xml')],
    ['a name alone', dmarcMail(zipOf(Buffer.from(dmarcXml(FIELDS))), 'application/x-unknown', 'a.zip')],
    [
      'among other parts',
      `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nThis is a report.\r\n--b\r\n${dmarcMail(dmarcXml(FIELDS))}\r\n--b--`,
    ],
  ])('is found in a message: %s', async (_name, message) => {
    expect(await readDmarcReport(Buffer.from(message))).toEqual(REPORT);
  });

  it('may have namespaces, CDATA and the entities of XML', async () => {
    const xml = dmarcXml(FIELDS)
      .replaceAll('<', '<d:')
      .replaceAll('<d:/', '</d:')
      .replaceAll('<d:?', '<?')
      .replaceAll('google.com</d:org', '<![CDATA[A &]]> B &amp; C&#33;</d:org');
    expect(await parse(xml)).toMatchObject({ reporter: 'A & B & C!', records: REPORT.records });
  });

  it('declares no entities', async () => {
    const laughs =
      '<!DOCTYPE feedback [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]>';
    const xml = dmarcXml({ ...FIELDS, reporter: '&b;&x;' }).replace('<feedback>', `${laughs}<feedback>`);
    expect(await parse(xml)).toMatchObject({ reporter: '&b;&x;' });
  });

  it('leaves out records that cannot be', async () => {
    const ips = ['192.0.2.256', 'localhost', '', '192.0.2.1 OR 1=1'];
    const counts = [-1, 0, 1.5, 1e300, Number.NaN];
    const records = [...ips.map((ip) => ({ ip, count: 1 })), ...counts.map((count) => ({ ip: '192.0.2.1', count }))];
    expect(await parse(dmarcXml({ ...FIELDS, records }))).toMatchObject({ records: [] });
  });

  it.each([
    ['no domain', dmarcXml({ ...FIELDS, domain: '' })],
    ['no id', dmarcXml({ ...FIELDS, reportId: ' ' })],
    ['an end before the beginning', dmarcXml({ ...FIELDS, begin: END, end: BEGIN })],
    ['no policy', dmarcXml({ ...FIELDS, policy: 'maybe' })],
    ['no report', '<html><body>hello</body></html>'],
    ['nothing', ''],
  ])('is none with %s', async (_name, xml) => expect(await parse(xml)).toBeUndefined());

  it('that is too large or too deep is given up', async () => {
    const records = Array.from({ length: 5_001 }, () => ({ ip: '192.0.2.1', count: 1 }));
    await expect(parseDmarcXml(inPieces(dmarcXml({ ...FIELDS, records }), 16_384))).rejects.toThrow('too many');
    await expect(parse('<a>'.repeat(100))).rejects.toThrow('too deep');
    const bomb = dmarcMail(dmarcXml({ ...FIELDS, reporter: ' '.repeat(11 * 1024 * 1024) }));
    expect(await readDmarcReport(Buffer.from(bomb))).toBeUndefined();
  });

  it.each(['<f><![CDATA[', '<a b="', '<?', '<!', '<!--', '<'])(
    'with %s and no end is given up early',
    async (start) => {
      let taken = 0;
      function* pieces() {
        for (yield Buffer.from(start); taken < 640; taken += 1) yield Buffer.alloc(16_384, 'a');
      }
      await expect(parseDmarcXml(Readable.from(pieces()))).rejects.toThrow('too long');
      expect(taken).toBeLessThan(100);
    },
  );

  it('may have much white space', async () => {
    const xml = dmarcXml({ ...FIELDS }).replace(/<record>/g, `${' '.repeat(300_000)}<record>`);
    expect(await parseDmarcXml(inPieces(xml, 16_384))).toEqual(REPORT);
  });

  it('of any text is a report or none', async () => {
    const text = fc.string({
      unit: fc.constantFrom(
        '<feedback>',
        '<record>',
        '</record>',
        '<row>',
        '<',
        '>',
        '/',
        '&',
        ';',
        'a',
        '<![CDATA[',
        '\0',
      ),
    });
    await fc.assert(
      fc.asyncProperty(text, async (given) => {
        await parse(given).catch((error: Error) => expect(error.message).toBe('is nested too deep'));
      }),
    );
  });
});

describe('the time of a report', () => {
  const at = (begin: string, end: string) =>
    isPlausible({ begin: new Date(begin), end: new Date(end) }, new Date('2026-03-05T06:00:00Z'));

  it('is near to its arrival', () => {
    expect(at('2026-03-04T00:00:00Z', '2026-03-05T00:00:00Z')).toBe(true);
    expect(at('2026-03-04T00:00:00Z', '2036-03-05T00:00:00Z')).toBe(false);
    expect(at('2020-03-04T00:00:00Z', '2020-03-05T00:00:00Z')).toBe(false);
    expect(at('2026-01-01T00:00:00Z', '2026-03-05T00:00:00Z')).toBe(false);
  });
});
