import fc from 'fast-check';
import { AddressPattern } from './address-pattern';
import type { Occurrence } from './encoded-runs';

describe('the characters of an address', () => {
  const spellings = fc.constantFrom(
    (character: string) => character,
    (character: string) => character.toUpperCase(),
    (character: string) => octets(character, '%'),
    (character: string) => octets(character, '%25'),
    (character: string) => octets(character, '%252525'),
    (character: string) => octets(character, '='),
    (character: string) => `&#x${hex(character)};`,
    (character: string) => `&amp;#${character.codePointAt(0)};`,
    (character: string) => `\\u{${hex(character)}}`,
    (character: string) => `\\\\u{00${hex(character)}}`,
  );
  const emails = [
    'victim.name@example.com',
    'a%b&c=d}e{f@x-y.example.org',
    '=&%}}%25a25@a.example',
    '2525%25&amp@b.example',
    'x61b%25252541=3d&lt@c.example',
    'ann%40b@a-1.example',
    'Ãã¡zoë😀ж@b-é.example',
    `${'ü'.repeat(30)}@example.com`,
    `${'%'.repeat(64)}@example.com`,
  ];

  it('may each be spelled in another way', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...emails),
        fc.constantFrom('NFC', 'NFD'),
        fc.array(spellings, { minLength: 80, maxLength: 80 }),
        (email, form, ways) => {
          const text = [...email.normalize(form)].map((each, at) => ways[at]?.(each) ?? each).join('');
          expect(occurrences(email, `<${text}>`)).toEqual([{ start: 1, end: text.length + 1 }]);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['in ISO 8859-1', 'zoë@x.example', 'zo%EB@x.example zo=eb@x.example'],
    ['in ISO 8859-1, where they could be UTF-8', 'Â¡ã@x.example', '%C2%A1%C3@x.example =C3=82=A1=E3@x.example'],
    ['with a character before them', 'éa@x.example', '%C3%A9=61@x.example =C3=A9%2561@x.example'],
    ['in octets that are encoded twice', 'ü@x.example', '%c3%25bc@x.example %25c3%bc@x.example'],
    ['that are several in upper case', 'groß@x.example', 'GROSS@X.EXAMPLE gro&#83;%53@x.example'],
    ['whose upper case is read backwards', '\u0149a@x.example', '\u02bcNA@x.example %ca%bc%4ea@x.example'],
    ['without what ends a reference', 'ann@x.example', 'ann&#64x&#46;example ann@x.exampl&#x65'],
    ['by their names', 'a&b=@x.example', 'a&amp;b&equals;&commat;x&period;example a&amp;amp;amp;b=@x.example'],
    [
      'by all names that addresses need',
      "!#$%&'*+/=?^_`{|}@x.example",
      '&excl;&num;&dollar;&percnt;&amp;&apos;&ast;&plus;&sol;&equals;&quest;&Hat;&lowbar;&grave;&lcub;&vert;&rcub;&commat;x&period;example',
    ],
    ['beyond 16 bits', '😀@xn--ls8h.example', '😀@💩.example \\u{1f600}@\\u{1f4a9}.example'],
    ['without what ends an escape', 'ann@x.example', '\\x61nn\\u0040x\\u{2eexample ann\\u{40x.exampl\\x65'],
    ['before digits that are letters', 'ann@b.example', 'ann\\u0040\\x62.example ann@\\\\\\\\u{000062}.example'],
    ['before a letter that may be a digit', 'ann@be.example', 'ann@\\x62e.example ann@\\u0062e.example'],
    ['behind what is not one', 'ann@x.example', 'joe@y.example,ann@y.example ann@x.example @ann@x.example'],
    ['with accents apart', 'zoë@xn--b--cja.example', 'zoe\u0308@b-e\u0301.example zo%65%cc%88@xn--b--cja.example'],
    ['in UTF-7, full width and small', 'ann@x.example', 'ann+AEA-x.example ann\uff20x.example ann\ufe6bx.example'],
  ])('are found %s', (_how, email, text) => {
    const found = occurrences(email, text);
    expect(found.map(({ start, end }) => text.slice(start, end))).toEqual(
      text.split(/[ ,]/).flatMap((word) => (/^(joe|ann@y)/.test(word) ? [] : word.replace(/^@/, ''))),
    );
  });

  it.each([
    ['half encoded', 'zoë@x.example', 'zo%C3=AB@x.example zo%AB@x.example zo%C3@x.example zo%C3%@x.example'],
    ['encoded too often', 'ann@x.example', '%2525252561nn@x.example an&amp;amp;amp;#110;@x.example'],
    ['with too many backslashes', 'ann@x.example', 'ann@\\\\\\\\\\x78.example'],
    ['with too many zeros', 'ann@x.example', 'ann@&#00000000120;.example ann@\\u0000078.example'],
    ['with more digits', 'ann@x.example', 'ann@&#1200;.example ann@&#12.example ann@&#120a.example ann@x.exampl&#x65b'],
    ['in part', 'ann@x.example', 'ann@y.example ann@x.exampla nn@x.example @x.example ann@x.exampl ann@ ann'],
    ['with more that is encoded', 'a@x.example', '%61%62@x.example a@%78%79.example'],
    ['twice', 'ann@x.example', 'ann@x.@ann@xx.example an@x.example'],
    ['as a surrogate alone', '😀@x.example', '\ude00@x.example \ud83d@x.example'],
  ])('are not found %s', (_how, email, text) => {
    expect(occurrences(email, text)).toEqual([]);
  });

  it('are found from left to right, where they count', () => {
    const text = '%61@x.example \\\\x61@x.example a@x.example';
    const places = [
      { start: 0, end: 13 },
      { start: 14, end: 29 },
      { start: 30, end: 41 },
    ];
    expect(occurrences('a@x.example', text)).toEqual(places);
    expect(occurrences('a@x.example', text, ({ start }) => start > 14)).toEqual(places.slice(2));
    expect(occurrences('%61@x.example', '%2561@x.example', ({ start }) => start > 0)).toEqual([]);
    expect(occurrences('a%61@x.example', '%61%61@x.example')).toEqual([{ start: 0, end: 16 }]);
  });

  it('leave the event loop its turn, however many addresses a text has', () => {
    const steps = [...new AddressPattern('a@x.example').occurrencesIn('b@x.example '.repeat(1_000), () => true)];
    expect(steps.every((step) => step === undefined)).toBe(true);
    expect(steps.length).toBe(31);
  });
});

function occurrences(
  email: string,
  text: string,
  counts: (occurrence: Occurrence) => boolean = () => true,
): Occurrence[] {
  return [...new AddressPattern(email).occurrencesIn(text, counts)].flatMap((step) => step ?? []);
}

function octets(character: string, sign: string): string {
  return [...Buffer.from(character)].map((octet) => sign + octet.toString(16).padStart(2, '0')).join('');
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}
