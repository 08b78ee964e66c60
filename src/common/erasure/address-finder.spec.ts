import fc from 'fast-check';
import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { AddressFinder } from './address-finder';

const ANN = 'ann@x.example';
const clean = (email: string, text: string) => new AddressFinder(email).clean(text);
const base64 = (text: string, encoding: BufferEncoding = 'utf8') => Buffer.from(text, encoding).toString('base64');

describe('an address within a text', () => {
  it.each([
    ['To ann@x.example, hello', 'To [erased], hello'],
    ['<ANN@X.Example>', '<[erased]>'],
    ['mailto:ann@x.example.', 'mailto:[erased].'],
    ['contact:\nann@x.example', 'contact:\n[erased]'],
    ['\tann@x.example\fann@x.example\bann@x.example', '\t[erased]\f[erased]\b[erased]'],
    ['escaped "contact:\\nann@x.example"', 'escaped "contact:\\n[erased]"'],
    ['_ann@x.example_ ...ann@x.example--- -ann@x.example', '_[erased]_ ...[erased]--- -[erased]'],
    ['https://shop.example/?email=ann%40x.example&a=1', 'https://shop.example/?email=[erased]&a=1'],
    ['?to=https%3A%2F%2Fs.example%2F%3Fe%3Dann%2540x.example', '?to=https%3A%2F%2Fs.example%2F%3Fe%3D[erased]'],
    ['%61nn%40x%2Eexample %2561nn%252540x.example', '[erased] [erased]'],
    ['ann&#64;x.example ann&#x40;x.example ann&commat;x&period;example', '[erased] [erased] [erased]'],
    ['&#97;nn&#0064x.example ann&amp;#64;x.example', '[erased] [erased]'],
    ['ann\\u0040x.example \\u{61}nn\\x40x\\\\u002eexample', '[erased] [erased]'],
    ['ann\uff20x.example', '[erased]'],
    ['\\x3Cann@x.example a\\tann@x.example %3dann@x.example', '\\x3C[erased] a\\t[erased] %3d[erased]'],
    ['\\u003dann@x.example', '\\u003d[erased]'],
    [`${base64(`to ${ANN}`)} ${ANN} ${base64(ANN)}`, '[erased] [erased] [erased]'],
    ['ann@x.example/ann@x.example', '[erased]/[erased]'],
    ['ann@x.example.pdf', '[erased].pdf'],
    ['ann@x.example-invoice.pdf ann@x.example--b', '[erased]-invoice.pdf [erased]--b'],
    [`?t=${base64('{"e":"ann@x.example"}')}&a`, '?t=[erased]&a'],
    [`eyJhIjoxfQ.x${base64(`..${ANN}`)}.sig`, 'eyJhIjoxfQ.[erased].sig'],
    [`data:text/plain;base64,${base64(ANN.toUpperCase())}`, 'data:text/plain;base64,[erased]'],
    [`${base64(` ${ANN} `, 'utf16le')} a`, '[erased] a'],
    [`<${Buffer.from(`to ${ANN}`).toString('hex')}>`, '<[erased]>'],
    [`<a${Buffer.from(ANN).toString('hex')}>`, '<[erased]>'],
    ['=?utf-8?Q?To_ann=40x.example?= hi', '[erased] hi'],
    ['=?iso-8859-1?q?ann?= =?us-ascii?B?QHguZXhhbXBsZQ==?= hi', '[erased] hi'],
    ['=?iso-8859-1?q?ann?=\r\n =?us-ascii?B?QHguZXhhbXBsZQ==?= hi', '[erased] hi'],
    ['=?x-unknown?Q?ann?= =?x-unknown?B?QHguZXhhbXBsZQ==?= hi', '[erased] hi'],
  ])('%s', (text, cleaned) => {
    expect(clean(ANN, text)).toBe(cleaned);
  });

  it.each([
    ...['joann@x.example', 'ann@x.examples', 'mary.ann@x.example', 'ann@xyexample', 'ann x.example'],
    ...[
      '?to=deann@x.example',
      'mary_ann@x.example',
      base64('joann@x.example'),
      '%3Djoann@x.example',
      `joann@x.example${' '.repeat(200)}`,
      'ann%2540y.example',
    ],
  ])('%s is another', (text) => {
    expect(clean(ANN, text)).toBe(text);
  });

  it('is found with its domain in either form, and accents composed or not', () => {
    const forms = ['ann@bücher.example', 'ann@BÜCHER.example', 'Ann@xn--bcher-kva.example', 'ann@bu\u0308cher.example'];
    expect(clean('ann@xn--bcher-kva.example', forms.join(' '))).toBe('[erased] [erased] [erased] [erased]');
    expect(clean('ann@xn--bcher-kva.example', 'ann@bücher.example')).toBe('[erased]');
    expect(clean('анна@x.example', 'to =?koi8-r?Q?=C1=CE=CE=C1=40x.example?=')).toBe('to [erased]');
    expect(clean('zoë@x.example', 'zoe\u0308@x.example zo%C3%AB@x.example ZOË@x.example')).toBe(
      '[erased] [erased] [erased]',
    );
    for (const email of ['İbo@x.example', 'i\u0307bo@x.example']) {
      expect(clean(email, 'İbo@x.example i\u0307BO@x.example I\u0307bo@x.example, not ibo@x.example')).toBe(
        '[erased] [erased] [erased], not ibo@x.example',
      );
    }
  });

  const character = fc.constantFrom(...'abzAZ09!#$%&*+/=?^_`{|}~-éЖ');
  const anyEmail = fc
    .string({ unit: character, minLength: 1, maxLength: 12 })
    .map((local) => `${local}@x-1.example`.normalize('NFC'));

  it('is found in every spelling, whatever it is made of', () => {
    const codes = (text: string, write: (code: number) => string) =>
      [...text].map((each) => write(each.codePointAt(0) ?? 0)).join('');
    fc.assert(
      fc.property(anyEmail, (email) => {
        const spelled = [
          ...[email, email.toUpperCase(), email.toLowerCase(), email.normalize('NFD'), encodeURIComponent(email)],
          ...[octets(email, '%').toUpperCase(), octets(email, '%25'), octets(email, '=').toUpperCase()],
          ...[codes(email, (code) => `&#${code};`), codes(email, (code) => `&#x${code.toString(16)};`)],
          codes(email, (code) => `\\u${code.toString(16).padStart(4, '0')}`),
        ];
        expect(spelled.map((text) => clean(email, `(${text})`))).toEqual(spelled.map(() => '([erased])'));
      }),
    );
  });

  it('is found wherever it stands in a long text, and the rest stays as it is', async () => {
    const filler = `${'lorem ipsum @x.example '.repeat(400)}%40&#`;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 400_000 }), { minLength: 1, maxLength: 5 }),
        async (places) => {
          let text = filler.repeat(45);
          for (const place of places) text = `${text.slice(0, place)} ${ANN} ${text.slice(place)}`;
          const expected = text.split(ANN);
          const cleaned = await new AddressFinder(ANN).cleanLong(text);
          expect(cleaned === expected.join('[erased]')).toBe(true);
        },
      ),
      { numRuns: 20 },
    );
  });
});

describe('an address in a long text', () => {
  /** Where one part that is looked through at a time ends and the next one begins. */
  const WINDOW = 32 * 1024;
  const finder = new AddressFinder(ANN);
  const at = (place: number, text: string) => `${'. '.repeat(place / 2)}${text}${' .'.repeat(100)}`;
  const longest = [...ANN].map((each) => `&amp;amp;#x000000${each.charCodeAt(0).toString(16)};`).join('');

  it.each([
    ['that begins in one window and ends in the next', WINDOW - 4, ANN, '[erased]'],
    ['in its longest spelling', WINDOW - 4, longest, '[erased]'],
    ['that is a part of another, which began in the window before', WINDOW - 2, 'joann@x.example', 'joann@x.example'],
  ])('%s', async (_where, place, text, cleaned) => {
    const whole = await finder.cleanLong(at(place, text));
    expect(whole === at(place, cleaned)).toBe(true);
  });

  describe('leaves the event loop its turns', () => {
    const now = performance.now.bind(performance);
    // Without Jest's mocks, which mutation testing does not have.
    afterEach(() => void (performance.now = now));

    it('when steps take long', async () => {
      let nowMs = 0;
      performance.now = () => (nowMs += 10);
      expect(await loopTurnsOf(() => finder.cleanLong('. '.repeat(5 * WINDOW)))).toBeGreaterThanOrEqual(9);
      expect(await loopTurnsOf(() => finder.holdsLong('=3D. '.repeat(WINDOW)))).toBeGreaterThanOrEqual(3);
    });

    it('also between the texts of a JSON value', async () => {
      let nowMs = 0;
      performance.now = () => (nowMs += 1);
      const value = Array.from({ length: 100 }, (_, index) => ({ email: `${index}@x.example`, reason: ANN }));
      expect(await loopTurnsOf(() => finder.cleanValue(value))).toBeGreaterThanOrEqual(40);
    });

    it('after five milliseconds, and then after five more', async () => {
      let nowMs = 0;
      performance.now = () => (nowMs += 1);
      const many = '=?utf-8?Q?x?= . '.repeat(WINDOW / 16);
      const turns = await loopTurnsOf(() => finder.holdsLong(many));
      expect(turns).toBeGreaterThanOrEqual(nowMs / 8);
      expect(turns).toBeLessThanOrEqual(nowMs / 5);
    });

    it('not when they take no time', async () => {
      performance.now = () => 0;
      expect(await loopTurnsOf(() => finder.holdsLong('=3D. '.repeat(WINDOW)))).toBeLessThanOrEqual(1);
    });
  });

  it('is found by a search in turns as by one at once', async () => {
    expect(await finder.holdsLong(at(100, ANN))).toBe(true);
    expect(await finder.holdsLong(at(100, encodeURIComponent(Buffer.from(`to ${ANN}`).toString('base64'))))).toBe(true);
    expect(await finder.holdsLong(at(100, 'another@x.example'))).toBe(false);
  });
});

describe('an address that is in a text or not', () => {
  const finder = new AddressFinder(ANN);

  it.each([
    ['as it is written', `to ${ANN}`, true, true],
    ['encoded in a run', `?t=${base64(`to ${ANN}`)}`, false, true],
    ['as a part of another and then by itself', `joann@x.example, ${ANN}`, true, true],
    ['as a part of another', 'joann@x.example', false, false],
    ['by itself', ANN, true, true],
    ['in what is shorter', ANN.slice(1), false, false],
    ['in nothing', '', false, false],
  ])('%s', (_where, text, plainly, atAll) => {
    expect([finder.holdsPlainly(text), finder.holds(text)]).toEqual([plainly, atAll]);
  });

  it.each([
    [ANN, true],
    ['zoë@x.example', false],
    ['ann@xn--bcher-kva.example', false],
    ['ann@mail.xn--bcher-kva.example', false],
    ['xn--ann@x.example', false],
    ['ann-xn--a@x.example', true],
  ])('%s is read as ASCII: %s', (email, isAscii) => {
    expect(new AddressFinder(email).isAscii).toBe(isAscii);
  });
});

describe('a raw message', () => {
  const finder = new AddressFinder(ANN);
  const lines = (text: string) => base64(text).replace(/.{76}/g, '$&\r\n');
  const part = (body: string) => `Content-Transfer-Encoding: base64\r\n\r\n${body}\r\n--b--\r\n`;

  it.each([
    [
      'in its header and its text',
      `Subject: for ${ANN}\r\nTo: "Ann" <${ANN}>,\r\n bob@y.example\r\n\r\nDear\r\nTo: ${ANN}!`,
      'Subject: for [erased]\r\nTo: erased@erased.invalid,\r\n bob@y.example\r\n\r\nDear\r\nTo: [erased]!',
    ],
    [
      'in folded fields of addresses, in any case',
      `cc: bob@y.example,\n Ann\n A. <${ANN}>\nX-To: ${ANN}\nReply-To :${ANN}\nFROM: A <${ANN}>\n\n`,
      'cc: bob@y.example,\n erased@erased.invalid\nX-To: [erased]\nReply-To :erased@erased.invalid\nFROM: erased@x.example\n\n',
    ],
    [
      'beside names with separators, comments and groups',
      `To: Us: "A, (${ANN}" <${ANN}> (A, B);, Bob <bob@y.example>, A <bob@y.example ${ANN}>\n\n`,
      'To: Us: erased@erased.invalid;, Bob <bob@y.example>, A <bob@y.example erased@erased.invalid>\n\n',
    ],
    [
      'in names that are encoded words',
      `From: =?utf-8?Q?ann=40x.example?= <no@x.example>\r\nTo: =?utf-8?B?${base64(ANN)}?= <${ANN}>\r\n\r\n`,
      'From: erased <no@x.example>\r\nTo: erased@erased.invalid\r\n\r\n',
    ],
    [
      'in what a resender added',
      `Resent-To: ${ANN}\r\nResent-From: ${ANN}\r\nResent-Comment: ${ANN}\r\n\r\n`,
      'Resent-To: erased@erased.invalid\r\nResent-From: erased@erased.invalid\r\nResent-Comment: [erased]\r\n\r\n',
    ],
    ['in a header without a body', `From: ${ANN}`, 'From: erased@x.example'],
    ['in a body without a header', `\r\nTo: ${ANN}`, '\r\nTo: [erased]'],
    ['as a word of base64', `Hello ${base64(`to ${ANN}`)} there`, 'Hello [erased] there'],
    ['as the last word of a line', `Hello\r\nto ${base64(`to ${ANN}`)}\r\nBye`, 'Hello\r\nto [erased]\r\nBye'],
    ['as the first word of a line', `${base64(`to ${ANN}`)} is for you\r\n`, '[erased] is for you\r\n'],
    ['on a line of its own, as it is', `Dear\r\n${ANN}\r\nBye`, 'Dear\r\n[erased]\r\nBye'],
    ['nowhere', part(lines('nothing to see here, nothing at all'.repeat(9))), undefined],
  ])('keeps its parts when the address is %s', async (_where, message, cleaned = message) => {
    expect(await finder.cleanMessage(message)).toBe(cleaned);
  });

  it('may have it any number of times', async () => {
    const many = 200_000;
    const cleaned = await finder.cleanMessage(`To: ${ANN}\r\n\r\n${`${ANN}\r\n`.repeat(many)}`);
    expect(cleaned).toBe(`To: erased@erased.invalid\r\n\r\n${'[erased]\r\n'.repeat(many)}`);
  });

  it.each([
    ['several lines', part(lines(`${'x'.repeat(80)} ${ANN} ${'x'.repeat(80)}`))],
    ['one line', part(base64(`to ${ANN}`))],
    ['one line that ends in blanks', part(`${base64(`to ${ANN}`)} \t`)],
    ['one line that ends in LF', `\n${base64(`to ${ANN}, and on`)}\n--b--`],
    ['all that there is', base64(`to ${ANN}`)],
    ['one line with padding', part(base64(`to ${ANN}.`))],
    ['one line with more padding', part(base64(`to ${ANN}..`))],
  ])('cannot be cleaned when it is within lines of base64: %s', async (_where, message) => {
    expect(await finder.cleanMessage(message)).toBeUndefined();
  });
});

describe('a JSON value', () => {
  it('keeps its shape, in names as well', async () => {
    const value = { [ANN]: 1, [ANN.toUpperCase()]: [ANN, 2, null, true], deep: { [`to ${ANN}`]: { e: `\n${ANN}` } } };
    expect(await new AddressFinder(ANN).cleanValue(value)).toEqual({
      '[erased]': 1,
      '[erased]-2': ['[erased]', 2, null, true],
      deep: { 'to [erased]': { e: '\n[erased]' } },
    });
    const three = { 'ann@x.example': 1, 'Ann@x.example': 2, 'ANN@x.example': 3, other: 4 };
    expect(await new AddressFinder(ANN).cleanValue(three)).toEqual({
      '[erased]': 1,
      '[erased]-2': 2,
      '[erased]-3': 3,
      other: 4,
    });
    // One that an earlier erasure has left keeps its name.
    expect(await new AddressFinder(ANN).cleanValue({ [ANN]: 1, '[erased]': 2 })).toEqual({
      '[erased]-2': 1,
      '[erased]': 2,
    });
    const odd = JSON.parse('{"__proto__": {"a": "ann@x.example"}, "constructor": 1}') as object;
    expect(JSON.stringify(await new AddressFinder(ANN).cleanValue(odd))).toBe(
      '{"__proto__":{"a":"[erased]"},"constructor":1}',
    );
  });

  it('stays the same when the address is nowhere in it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        expect(await new AddressFinder(ANN).cleanValue(value)).toBe(value);
      }),
    );
  });
});

function octets(character: string, sign: string): string {
  return [...Buffer.from(character)].map((octet) => sign + octet.toString(16).padStart(2, '0')).join('');
}
