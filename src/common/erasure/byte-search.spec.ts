import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { AddressFinder } from './address-finder';
import { bytesHold } from './byte-search';

const ANN = 'ann.lee@x.example';
const ZOE = 'zoë@bücher.example';
const holds = (email: string, bytes: Buffer | string, contentType?: string) =>
  bytesHold(new AddressFinder(email), Buffer.from(bytes as Buffer), { contentType });

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();
const lines = (text: string) => text.replace(/.{76}/g, '$&\r\n');
const base64Body = (text: string) => lines(Buffer.from(text).toString('base64'));

function zipOf(content: string | Buffer): Buffer {
  const head = Buffer.alloc(30);
  head.write('PK\x03\x04', 'latin1');
  head.writeUInt16LE(8, 8);
  head.writeUInt16LE(5, 26);
  head.writeUInt16LE(3, 28);
  return Buffer.concat([
    head,
    Buffer.from('a.txtxyz'),
    deflateRawSync(content),
    Buffer.from('PK\x01\x02rest', 'latin1'),
  ]);
}

const pdfOf = (content: string) =>
  Buffer.concat([
    Buffer.from('%PDF-1.7\n1 0 obj\nstream\r\n'),
    deflateSync(content),
    Buffer.from('\nendstream\nendobj\n'),
  ]);

/** Each of so many MiB. */
const twoFiles = (size: number) =>
  Buffer.concat([
    gzipSync(Buffer.alloc(size * 1024 * 1024)),
    zipOf(Buffer.concat([Buffer.alloc(size * 1024 * 1024), Buffer.from(ANN)])),
  ]);

const FILLER = 'nothing to see here\n'.repeat(20_000);

describe('bytes', () => {
  it.each<[string, Buffer | string]>([
    ['text', `to ${ANN}`],
    ['text far inside', `${FILLER}${ANN}\n${FILLER}`],
    ['UTF-16', Buffer.from(`\ufeffto ${ANN}`, 'utf16le')],
    ['UTF-16, the other order', utf16be(`to ${ANN}`)],
    ['UTF-32', Buffer.from([...`to ${ANN} `].flatMap((each) => [...Buffer.from([0, 0, 0, each.charCodeAt(0)])]))],
    ['quoted-printable', 'To=20ann.l=\r\nee=40x.exa=\r\nmple=0D=0A'],
    ['quoted-printable, with blanks at the ends of lines that are LF', 'To=20ann.l= \t\nee=40x.exa=\nmple'],
    ['quoted-printable, lower-case digits', 'ann.lee=40x.example=2c or a=6e=6e.lee@x.example'],
    ['folded', 'ATTENDEE;CN=Ann:mailto:ann.l\r\n ee@x.example'],
    ['folded by tabs, with lines that end in LF', 'ATTENDEE;CN=Ann:mailto:ann.l\n\t \tee@x.ex\n\tample'],
    ['base64 lines', base64Body(`${FILLER}${ANN} ${FILLER}`)],
    ...['\r\n', '\n', ' \t\r\n', '\r\n> ', '\n\t > >'].map((end): [string, string] => [
      `base64 over lines that end with ${JSON.stringify(end)}`,
      base64Body(`${'x'.repeat(48)} ${ANN} ${'x'.repeat(48)}`).replaceAll('\r\n', end),
    ]),
    ['two windows', `${' .'.repeat(16 * 1024 - 4)} ${ANN}`],
    ['base64 lines quoted in a reply', base64Body(`${FILLER}${ANN} ${FILLER}`).replace(/^/gm, '> ')],
    ['JSON escapes', '{"a":"contact:\\nann.lee\\u0040x.example"}'],
    ['gzip', gzipSync(`${FILLER}${ANN}`)],
    ['ZIP', zipOf(`${FILLER}${ANN}`)],
    ['a ZIP in a ZIP', zipOf(zipOf(ANN))],
    ['a file in a file in a file', zipOf(gzipSync(zipOf(ANN)))],
    ['the second of two files', Buffer.concat([gzipSync(FILLER), zipOf(ANN)])],
    ['the end of the second of two files that unpack to 24 MiB', twoFiles(12)],
    ['PDF', pdfOf(`BT (${ANN}) Tj ET`)],
    ['PDF, hexadecimal', pdfOf(`BT <${Buffer.from(ANN).toString('hex')}> Tj ET`)],
  ])('in %s', async (_kind, bytes) => {
    expect(await holds(ANN, bytes)).toBe(true);
  });

  it.each<[string, Buffer]>([
    ['UTF-8', Buffer.from(`to ${ZOE}`)],
    ['Latin 1', Buffer.from(`to ${ZOE}`, 'latin1')],
    ['UTF-16', Buffer.from(`to ${ZOE}`, 'utf16le')],
    ['UTF-16, the other order', utf16be(`to ${ZOE}`)],
    ['UTF-32', Buffer.from([...`to ${ZOE} `].flatMap((each) => [0, 0, 0, each.charCodeAt(0)]))],
  ])('what is not ASCII, in %s', async (_kind, bytes) => {
    expect(await holds('zoë@xn--bcher-kva.example', bytes)).toBe(true);
  });

  it('what is not ASCII, in the character set that is declared, there or within', async () => {
    const koi8 = Buffer.from([0xc1, 0xce, 0xce, 0xc1, ...Buffer.from('@x.example')]);
    expect(await holds('анна@x.example', koi8, 'text/plain; charset="koi8-r"')).toBe(true);
    expect(await holds('анна@x.example', Buffer.concat([Buffer.from('<meta charset=koi8-r>'), koi8]))).toBe(true);
    expect(await holds('анна@x.example', koi8, "text/plain; CHARSET = 'koi8-r'")).toBe(true);
    expect(await holds('анна@x.example', koi8, 'text/plain; charset=nonsense')).toBe(false);
    expect(await holds('анна@x.example', koi8)).toBe(false);
  });

  it('what is not ASCII, in encoded words of any character set', async () => {
    const ann = 'анна@x.example';
    const koi8 = Buffer.from([0xc1, 0xce, 0xce, 0xc1]);
    expect(await holds(ann, 'To: =?koi8-r?Q?=C1=CE=CE=C1=40x.example?=')).toBe(true);
    expect(await holds(ann, 'To: =?KOI8-R?q?=c1=ce=ce=c1?= =?utf-8?q?=40x?=\r\n =?utf-8?b?LmV4YW1wbGU=?=')).toBe(true);
    expect(await holds(ann, `To: =?koi8-r?B?${koi8.toString('base64')}?= =?nonsense?Q?@x.example?=`)).toBe(true);
    expect(await holds(ann, `To: =?nonsense?B?${Buffer.from(ann).toString('base64')}?=`)).toBe(true);
    expect(await holds(ann, 'To: =?iso-8859-5?Q?=C1=CE=CE=C1=40x.example?=')).toBe(false);
  });

  it('what is not ASCII, in one of the first four character sets that are declared', async () => {
    const koi8 = Buffer.from([0xc1, 0xce, 0xce, 0xc1, ...Buffer.from('@x.example')]);
    const declared = (...names: string[]) => names.map((name) => `charset=${name}`).join(' ');
    const others = ['utf-8', 'nonsense', 'gbk', 'big5', 'iso-8859-2'];
    expect(await holds('анна@x.example', koi8, declared(...others, 'koi8-r'))).toBe(true);
    expect(await holds('анна@x.example', koi8, declared(...others, 'iso-8859-3', 'koi8-r'))).toBe(false);
  });

  it.each<[string, Buffer | string]>([
    ['another address', `mary.${ANN} ${ANN}s`],
    ['nothing', ''],
    ['what is four files deep', zipOf(gzipSync(zipOf(gzipSync(ANN))))],
    ['lines that are no base64 together', 'ann.lee@x.exam\r\nple'],
    ['broken archives', Buffer.concat([zipOf(FILLER).subarray(0, 60), gzipSync(FILLER).subarray(0, 30)])],
    ['the end of the second of two files that unpack to 34 MiB', twoFiles(17)],
    ['what unpacks without end', gzipSync(Buffer.alloc(40 * 1024 * 1024))],
  ])('not in %s', async (_kind, bytes) => {
    expect(await holds(ANN, bytes)).toBe(false);
  });
});

it('the event loop has its turn while files are looked through', async () => {
  const files = [
    Buffer.alloc(2 * 1024 * 1024, 'A'),
    Buffer.from(lines(Buffer.alloc(1024 * 1024, 'lorem').toString('base64'))),
    Buffer.alloc(1024 * 1024, '=?utf-8?Q?x?= '),
    Buffer.alloc(1024 * 1024, '%25=\r\n &#'),
  ];
  for (const file of files) {
    let [turns, longest, last] = [0, 0, process.cpuUsage()];
    const watch = () => {
      const { user, system } = process.cpuUsage(last);
      [turns, longest, last] = [turns + 1, Math.max(longest, (user + system) / 1_000), process.cpuUsage()];
      timer = setImmediate(watch);
    };
    let timer = setImmediate(watch);
    expect(await bytesHold(new AddressFinder(ANN), file)).toBe(false);
    clearImmediate(timer);
    expect(turns).toBeGreaterThan(file.length / 64 / 1024);
    // Milliseconds of processor time, some ten as a rule; those of the engine's own threads count too.
    expect(longest).toBeLessThan(500);
  }
});
