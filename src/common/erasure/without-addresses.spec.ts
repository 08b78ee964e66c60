import fc from 'fast-check';
import { valueWithoutAddresses, withoutAddresses, withoutEncodedAddresses } from './without-addresses';

describe('withoutAddresses', () => {
  it.each([
    ['550 5.1.1 <ada@example.com>: unknown', '550 5.1.1 <[address]>: unknown'],
    ['to=ada%40example.com&x=1', 'to=[address]&x=1'],
    ['to=ada%2540example.com', 'to=[address]'],
    [String.raw`{"to":"ada\u0040example.com"}`, '{"to":"[address]"}'],
    [String.raw`"{\"to\":\"ada\\u0040example.com\"}"`, String.raw`"{\"to\":\"[address]\"}"`],
    [String.raw`{"to":"ada\u002Bnews@example.com"}`, '{"to":"[address]"}'],
    ['<b>ada&#64;example.com</b>', '<b>[address]</b>'],
    ['<b>ada&#x2b;news&#X40;example.com</b>', '<b>[address]</b>'],
    ['<b>ada&commat;example.com</b>', '<b>[address]</b>'],
    ['cut short: ada@', 'cut short: [address]'],
    ['nothing @ all', 'nothing @ all'],
    ['421 4.7.0 too many connections', '421 4.7.0 too many connections'],
  ])('of %j leaves %j', (text, left) => {
    expect(withoutAddresses(text)).toBe(left);
  });
});

const ENCODINGS: readonly ((text: string) => string)[] = [
  (text) => Buffer.from(text).toString('base64'),
  (text) => Buffer.from(text).toString('base64url'),
  (text) => Buffer.from(text).toString('hex'),
  (text) => Buffer.from(text, 'utf16le').toString('base64'),
  (text) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`,
  (text) => encodeURIComponent(text),
  (text) => text.replace('@', '=40'),
  (text) => text.replace(/./g, (sign) => `=${sign.charCodeAt(0).toString(16).toUpperCase()}`),
  (text) => encodeURIComponent(encodeURIComponent(text)),
  (text) => Buffer.from(JSON.stringify({ data: { recipient: text } })).toString('base64'),
  (text) => Buffer.from(JSON.stringify(text).replace('@', '\\u0040')).toString('base64'),
];

describe('withoutEncodedAddresses', () => {
  it('keeps no address, however programs encode it and wherever it stands', () => {
    const word = fc.stringMatching(/^[a-z0-9]{3,20}$/);
    const around = fc.constantFrom('', ' ', '?t=', '"', 'https://x.example/#', '&', '\n', '9f8e7d6c');
    fc.assert(
      fc.property(word, word, fc.constantFrom(...ENCODINGS), around, around, (local, domain, encode, before, after) => {
        const encoded = encode(`${local}@${domain}.example`);
        expect(withoutEncodedAddresses(`${before}${encoded}${after}`)).not.toContain(encoded);
      }),
    );
  });

  it.each([
    String.raw`"ada\u0040example\u002ecom"`,
    String.raw`"ada\u0040\u0065xample.com"`,
    String.raw`"https:\/\/x.example\/ada\u0040example\u002ecom"`,
    String.raw`{"e":"\u0061\u0064\u0061\u0040\u0065\u0078\u002e\u0063\u006f"}`,
    '"ada=40example=2Ecom"',
    '"%61da%40example%2Ecom"',
  ])('keeps none that is escaped like %s in what is glued to other text', (escaped) => {
    for (const glue of ['9f8e7d6c', '9f8e7d6cb', 'users/9f8e/', '0123456789abcdef0', 'a-b_c-d_e-f_g']) {
      const base64 = Buffer.from(escaped).toString('base64');
      expect(withoutEncodedAddresses(`${glue}${base64}`)).not.toContain(base64.slice(4, -8));
    }
  });

  it('keeps none without a whole domain that is escaped twice', () => {
    expect(withoutEncodedAddresses('to ada\\u0026#64;localhost')).toBe('to [address]');
  });

  it('keeps none that the end of the text cuts', () => {
    const encoded = Buffer.from('{"recipient":"ada@example.com"}').toString('base64');
    for (let length = 26; length < encoded.length; length += 1) {
      expect(withoutEncodedAddresses(encoded.slice(0, length))).toBe('[address]');
    }
  });

  it.each([
    'https://shop.example/orders/4711?utm_source=mail&utm_campaign=summer-sale#section-two',
    'https://x.example/t/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
    'https://shop.example/?page=40x&width=40px',
    '{"id":"018f3c1e-7b1a-7000-8000-0123456789ab","status":"accepted","digest":"9f86d081884c7d659a2feaa0c55ad015"}',
  ])('keeps %j', (text) => {
    expect(withoutEncodedAddresses(text)).toBe(text);
  });

  it.each(['=40', 'b', '%40', 'a@', '=41', '404'])('takes time in proportion to a text of %j alone', (piece) => {
    // A pattern that begins anew at each character takes a minute and more, and the test ends.
    const text = piece.repeat(40_000);
    expect(withoutEncodedAddresses(`${text} ada@example.com`)).toContain('[address]');
  });
});

describe('texts that are made to be slow', () => {
  const BYTES = 64 * 1024;

  it.each([
    ...[
      '=40',
      '=40=2E',
      'a=40a.',
      '@',
      'a',
      'a@',
      'a@a.',
      '%40',
      '\\u0040',
      '&#x61;',
      '=?a?b?c?= ',
      '=41%41\\u0041&#65;',
    ],
    ...[`${'A'.repeat(76)}\n`, Buffer.from(Buffer.from('%41=41').toString('base64')).toString('base64')],
  ])('of %j end within the time of a test', (unit) => {
    const text = unit.repeat(BYTES / unit.length);
    expect(withoutEncodedAddresses(text).length).toBeLessThanOrEqual(5 * text.length);
  });
});

describe('valueWithoutAddresses', () => {
  it('changes texts alone', () => {
    const at = new Date(0);
    const value = { a: ['x', 1, null, { b: 'to ada@example.com' }], at, c: undefined, 'k@example.com': true };
    expect(valueWithoutAddresses(value)).toEqual({ ...value, a: ['x', 1, null, { b: 'to [address]' }] });
  });
});
