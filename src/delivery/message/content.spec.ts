import fc from 'fast-check';
import { encodeBody } from './content';
import { toCrlf, crlfChunks } from '../../common/mime/line-ends';
import { encodeQuotedPrintable } from './quoted-printable';
import { anyCharacter } from '../../../test/factories/any-character';

/** RFC 2045 section 6.7, the reader's side. */
function decodeQuotedPrintable(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1').replace(/=\r\n/g, '');
  return Buffer.from(
    text.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  );
}

const awkward = fc.constantFrom(
  ' ',
  '\t',
  '\n',
  '\r',
  '\r\n',
  '.',
  '..',
  'F',
  'From ',
  '=',
  '=\n',
  '--=_',
  'é',
  '字',
  '🦄',
  '\0',
  '\x7f',
  'x'.repeat(70),
  'word',
);
const text = fc.oneof(
  fc.array(awkward, { maxLength: 60 }).map((parts) => parts.join('')),
  fc.string({ unit: anyCharacter, maxLength: 300 }),
);

function expectSafe(bytes: Buffer): void {
  const unsafe = /^(?:\.|From )|[\t ]$|[^\t\x20-\x7e]|.{77}|=_/;
  expect(
    bytes
      .toString('latin1')
      .split('\r\n')
      .filter((line) => unsafe.test(line)),
  ).toEqual([]);
}

describe('encodeQuotedPrintable', () => {
  it('decodes to the text with CRLF, in safe lines', () => {
    fc.assert(
      fc.property(text, (any) => {
        const encoded = encodeQuotedPrintable(Buffer.from(any));
        expectSafe(encoded);
        expect(decodeQuotedPrintable(encoded)).toEqual(toCrlf(Buffer.from(any)));
      }),
      { numRuns: 5_000 },
    );
  });

  it('takes any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        const encoded = encodeQuotedPrintable(bytes);
        expectSafe(encoded);
        expect(decodeQuotedPrintable(encoded)).toEqual(toCrlf(Buffer.from(bytes)));
      }),
    );
  });

  it.each([
    '=',
    '.',
    '\n',
    ' \n',
    '\t\n',
    'é',
    '字',
    '🦄',
    'From \n',
    '.\n',
    '=\n',
    ' ',
    '\0',
    `${'x'.repeat(74)} \n`,
    `${'x'.repeat(75)}.`,
  ])('has room for nothing but %j', (unit) => {
    for (const count of [1, 2, 24, 25, 26, 5_000]) {
      const encoded = encodeQuotedPrintable(Buffer.from(unit.repeat(count)));
      expectSafe(encoded);
      expect(decodeQuotedPrintable(encoded).equals(toCrlf(Buffer.from(unit.repeat(count))))).toBe(true);
    }
  });

  it('breaks no line within a character', () => {
    for (const line of encodeQuotedPrintable(Buffer.from(`x${'字é🦄'.repeat(100)}`))
      .toString()
      .split('=\r\n')) {
      expect(decodeQuotedPrintable(Buffer.from(line)).toString()).not.toContain('\ufffd');
    }
  });
});

describe('encodeBody', () => {
  it.each([
    ['', '7bit'],
    ['plain\nlines', '7bit'],
    ['x'.repeat(76), '7bit'],
    [`short\r\n${'x'.repeat(77)}`, 'quoted-printable'],
    ['.', 'quoted-printable'],
    ['a\n.\nb', 'quoted-printable'],
    ['a\rFrom here', 'quoted-printable'],
    ['a \nb', 'quoted-printable'],
    ['a\t', 'quoted-printable'],
    ['a\0', 'quoted-printable'],
    ['--=_x', 'quoted-printable'],
    ['mostly Latin, größer', 'quoted-printable'],
    ['Добрый день', 'base64'],
  ])('sends %j as %s', (any, encoding) => {
    expect(encodeBody(any).encoding).toBe(encoding);
  });

  it('gives safe bytes that decode to the text', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.string({ unit: fc.constantFrom('д', 'о', '\n', ' '), maxLength: 300 })), (any) => {
        const { encoding, bytes } = encodeBody(any);
        const plain = toCrlf(Buffer.from(any));
        if (encoding === 'base64') expect(Buffer.from(bytes.toString(), 'base64')).toEqual(plain);
        else expect(encoding === '7bit' ? bytes : decodeQuotedPrintable(bytes)).toEqual(plain);
        expectSafe(bytes);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('toCrlf', () => {
  const raw = fc.array(fc.constantFrom('\r', '\n', '\r\n', 'a'), { maxLength: 20 }).map((parts) => parts.join(''));

  it('leaves CRLF only, and the same Buffer when there was nothing else', () => {
    fc.assert(
      fc.property(raw, (any) => {
        const result = toCrlf(Buffer.from(any));
        expect(result.toString()).toBe(any.replace(/\r\n|\r|\n/g, '\r\n'));
        expect(toCrlf(result)).toBe(result);
      }),
    );
  });

  it('does the same whatever the chunks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(raw, { maxLength: 6 }), async (chunks) => {
        async function* source() {
          for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk));
        }
        const results: Buffer[] = [];
        for await (const chunk of crlfChunks(source())) results.push(chunk);
        expect(Buffer.concat(results)).toEqual(toCrlf(Buffer.from(chunks.join(''))));
      }),
      { numRuns: 500 },
    );
  });
});
