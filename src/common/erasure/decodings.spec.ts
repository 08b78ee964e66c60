import fc from 'fast-check';
import { AddressFinder } from './address-finder';
import { bytesHold } from './byte-search';
import { withoutEncodedAddresses } from './without-addresses';

type Encoding = (text: string) => string;

const octets = (text: string, sign: string) =>
  [...Buffer.from(text)].map((octet) => sign + octet.toString(16).toUpperCase().padStart(2, '0')).join('');
const codes = (text: string, write: (code: number) => string) =>
  [...text].map((each) => write(each.codePointAt(0) ?? 0)).join('');
const codePoints = (text: string) => codes(text, (code) => `\\u${code.toString(16).padStart(4, '0')}`);
const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();
const lines = (text: string) => text.replace(/.{76}/g, '$&\r\n');

const HTML_NAMES: Readonly<Record<string, string>> = {
  ...{ '&': 'amp', '@': 'commat', '.': 'period', '+': 'plus', '=': 'equals', '/': 'sol' },
};

/** Ways in which programs write a text into another one. */
const ENCODINGS: Readonly<Record<string, Encoding>> = {
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  'base64 in lines': (text) => lines(Buffer.from(`${text}${'. '.repeat(40)}`).toString('base64')),
  'UTF-16 in base64': (text) => Buffer.from(text, 'utf16le').toString('base64'),
  'big-endian UTF-16 in base64': (text) => utf16be(text).toString('base64'),
  hexadecimal: (text) => Buffer.from(text).toString('hex'),
  'upper-case hexadecimal': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  'quoted-printable': (text) => octets(text, '='),
  'quoted-printable signs': (text) => text.replace(/[^A-Za-z0-9. ]/g, (sign) => octets(sign, '=')),
  'percent-encoding': (text) => octets(text, '%'),
  'percent-encoded signs': (text) => encodeURIComponent(text),
  'lower-case percent-encoding': (text) => octets(text, '%').toLowerCase(),
  'JSON escapes': (text) => codePoints(text),
  'JSON escapes of signs': (text) => text.replace(/[^A-Za-z0-9. ]/g, codePoints),
  JSON: (text) => JSON.stringify({ e: text }).replaceAll('/', '\\/'),
  'JavaScript escapes': (text) => octets(text, '\\x'),
  'HTML references': (text) => codes(text, (code) => `&#${code};`),
  'hexadecimal HTML references': (text) => codes(text, (code) => `&#x${code.toString(16)};`),
  'named HTML references': (text) => text.replace(/[&@.+=/]/g, (sign) => `&${HTML_NAMES[sign] ?? ''};`),
  'encoded word, B': (text) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`,
  'encoded word, Q': (text) => `=?utf-8?Q?${octets(text, '=')}?=`,
};
const NAMES = Object.keys(ENCODINGS);
const encode = (name: string, text: string) => ENCODINGS[name]?.(text) ?? '';
const BEFORE = ['', ' ', '?t=', '"', 'https://x.example/#', '\n', '/', 'a', 'Zz9', '.'];

const PAIRS = NAMES.flatMap((inner) => NAMES.map((outer): [string, string] => [inner, outer]));

describe('an address in one encoding within another one', () => {
  const ANN = 'ann.qlee+news@mail.x-shop.example';
  const finder = new AddressFinder(ANN);
  const written = (inner: string, outer: string, email: string) =>
    encode(outer, `{"to": ${encode(inner, `<${email}>`)}}`);

  it.each(NAMES)('%s in each of them is found by who looks for it', (inner) => {
    const texts = NAMES.map((outer) => ({ outer, text: written(inner, outer, ANN) }));
    expect(texts.filter(({ text }) => !finder.holds(`glued${text}`)).map(({ outer }) => outer)).toEqual([]);
    expect(texts.filter(({ text }) => finder.holds(finder.clean(text))).map(({ outer }) => outer)).toEqual([]);
  });

  it.each(NAMES)('%s in each of them is found by who looks for any address', (inner) => {
    const left = NAMES.filter((outer) => finder.holds(withoutEncodedAddresses(`glued${written(inner, outer, ANN)}`)));
    expect(left).toEqual([]);
  });

  it('is found in upper case, and with its domain in either form', () => {
    const forms = ['zoë.q@xn--bcher-kva.example', 'ZOË.Q@BÜCHER.EXAMPLE', 'zoe\u0308.q@bücher.example'];
    const zoe = new AddressFinder('zoë.q@xn--bcher-kva.example');
    const missed = PAIRS.flatMap(([inner, outer]) =>
      forms.filter((form) => !zoe.holds(written(inner, outer, form))).map((form) => [inner, outer, form]),
    );
    expect(missed).toEqual([]);
  });

  it('is found in files', async () => {
    const missed: string[][] = [];
    for (const [inner, outer] of PAIRS) {
      if (!(await bytesHold(finder, Buffer.from(written(inner, outer, ANN))))) missed.push([inner, outer]);
    }
    expect(missed).toEqual([]);
  });

  it('is taken out, and what stands around it stays', () => {
    const emails = [
      'a1b@x.example',
      '0a00a0@b9.example',
      'ann+x_y@mail.x-1.example',
      'deadbeef@cafe.example',
      'q.w@e.co',
    ];
    const finders = emails.map((email) => ({ email, finder: new AddressFinder(email) }));
    const name = fc.constantFrom(...NAMES);
    const around = fc.constantFrom(...BEFORE);
    fc.assert(
      fc.property(fc.constantFrom(...finders), name, name, around, around, (sought, inner, outer, before, between) => {
        const text = encode(outer, `${between}${encode(inner, `<${sought.email}>`)}`);
        const cleaned = sought.finder.clean(`KEPT ${before}${text} | KEPT`);
        expect(cleaned).toMatch(/^KEPT [^]*\[erased\][^]* \| KEPT$/);
        expect(sought.finder.holds(cleaned)).toBe(false);
        expect(sought.finder.holds(withoutEncodedAddresses(`${before}${text}`))).toBe(false);
      }),
    );
  });
});

it('what is encoded deeper is not looked into', () => {
  const finder = new AddressFinder('ann@x.example');
  const encoded = (...names: string[]) => names.reduce((text, name) => encode(name, text), ' ann@x.example ');
  const isFound = (...names: string[]) => finder.holds(encoded(...names));
  expect([isFound('base64', 'base64'), isFound('base64', 'base64', 'base64')]).toEqual([true, false]);
  const escapes = ['quoted-printable', 'percent-encoding', 'JSON escapes', 'HTML references'];
  expect([isFound(...escapes.slice(1)), isFound(...escapes)]).toEqual([true, false]);
});

describe('what is encoded within a text', () => {
  const finder = new AddressFinder('ann@x.example');

  it.each([
    ['{"a":"x\\u0020ann\\u0040x.example\\u0020y"}', '{"a":"x\\u0020[erased]\\u0020y"}'],
    ['?q=a%5Cu0020ann%5Cu0040x.example%20b', '?q=a%5Cu0020[erased]%20b'],
    ['a=\r\n b ann=\r\n@x.exam=\r\nple c=\r\n', 'a=\r\n b [erased] c=\r\n'],
    ['%26%2365%3B %61%6e%6e%26%2364%3Bx.example %26', '%26%2365%3B [erased] %26'],
    ['?e=3Dann@x.example ?e=20ann=40x.example', '?e=3D[erased] ?e=20[erased]'],
    ['"YW5uQHguZXhh\\u0062XBsZQ==" \\u0041', '"[erased]" \\u0041'],
  ])('of %s is taken out of its place', (text, cleaned) => {
    expect(finder.clean(text)).toBe(cleaned);
  });

  it.each([
    '?to=deann@x.example',
    '?to=C3ann@x.example',
    'jo%61nn@x.example',
    'jo\\u0061nn@x.example',
    '%6aoann%40x.example',
  ])('of another address, %s, stays', (text) => {
    expect(finder.clean(text)).toBe(text);
  });
});
