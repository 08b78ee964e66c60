import { joinedReading, readings } from './decodings';

const read = (text: string) => [...readings(text)].map((reading) => reading.text);

describe('readings', () => {
  it.each([
    ['a%41%6a%6A%C3%A9.%E9.%e2%82%AC', ['aAjj\u00e9.\u00e9.\u20ac']],
    ['%00a%00b%4', ['ab%4']],
    ['a=41=\r\nb= \t\nc=00=C3=A9.=E9=4g', ['aAbc\u00e9.\u00e9=4g']],
    ['\\u0041\\u006a\\u{42}\\u{1F600}\\x43\\xC3\\xA9\\u00', ['AjB\u{1F600}C\u00e9\\u00']],
    ['a\\nb\\tc\\r\\f\\b\\v.\\0\\u0000', ['a b c    .']],
    ['\\"\\/\\\\\\\r\n\\\n\\a\\ ', ['"/\\\\a\\ ']],
    ['\\ud83d\\ude00', ['\u{1F600}']],
    ['&#65;&#0066;&#x43;&#X0044;&#69 &#x46.', ['ABCDE F.']],
    ['&#0;&#x0;&#x110000;a', ['a']],
    ['&#x10ffff;', ['\u{10ffff}']],
    ['&commat;&period;&amp;#64;&copy;', ['@.&#64;&copy;']],
    ['a%41&#65;', ['aA&#65;', 'a%41A']],
    ['nothing = 1 & 100 % \\a', []],
    ['', []],
  ])('of %j', (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it('of what may be no encoding are guesses', () => {
    expect([...readings('%41=41\\u0041&#65;')].map(({ isGuess }) => isGuess)).toEqual([false, true, false, false]);
    expect(joinedReading(`${'A'.repeat(16)}\nB`)?.isGuess).toBe(false);
  });

  it.each<[string, string, [number, number], [number, number] | undefined]>([
    ['an escape', 'a%41b', [1, 2], [1, 4]],
    ['what ends with an escape', 'a%41b', [0, 2], [0, 4]],
    ['what begins with an escape', 'a%41b', [1, 3], [1, 5]],
    ['what has one within', 'a%41b', [0, 3], [0, 5]],
    ['what stands before one', 'a%41b', [0, 1], undefined],
    ['what stands right behind one', 'a%41b', [2, 3], [4, 5]],
    ['what stands further behind', 'a%41bc', [3, 4], undefined],
    ['what stands behind a letter that is not ASCII', 'a%C3%9Eb', [2, 3], undefined],
    ['what stands behind a control', 'a%80b', [2, 3], undefined],
    ['what stands behind none', 'abc%41', [1, 2], undefined],
    ['the first of two', 'x%41%42y%43z', [1, 2], [1, 4]],
    ['the second of two', 'x%41%42y%43z', [2, 4], [4, 8]],
    ['two, and what stands around', 'x%41%42y%43z', [0, 4], [0, 8]],
    ['what stands between', 'x%41%42y%43z', [3, 5], [7, 11]],
    ['the last one', 'x%41%42y%43z', [4, 6], [8, 12]],
    ['all', 'x%41%42y%43z', [0, 6], [0, 12]],
    ['a part of what several octets stand for', '%C3%A9%C3%A9b', [1, 2], [0, 12]],
    ['what a line break is within', 'ab=\r\ncd', [1, 3], [1, 6]],
    ['what stands behind a line break', 'ab=\r\ncd', [2, 4], undefined],
    ['what stands before a line break', 'ab=\r\ncd', [0, 2], undefined],
    ['what stands between two line breaks', 'a=\nb=\nc', [1, 2], undefined],
    ['what stands around two line breaks', 'a=\nb=\nc', [0, 3], [0, 7]],
  ])('%s is found where it was: %s', (_what, text, [start, end], expected) => {
    const [reading] = readings(text);
    expect(reading?.sourceOf({ start, end })).toEqual(expected && { start: expected[0], end: expected[1] });
  });
});

describe('lines of base64', () => {
  const line = 'QUFB+/FBQUFBQUFB';

  it.each([
    [`${line}\r\n${line}`, `${line}${line}`],
    [`${line} \t\n> >\t${line}=`, `${line}${line}=`],
    [`${line}\n+\n${line}\n/`, `${line}+\n${line}/`],
  ])('of %j are joined', (text, joined) => {
    expect(joinedReading(text)?.text).toBe(joined);
  });

  it.each([
    line,
    `${line.slice(1)}\n${line}`,
    `${line}\n\n${line}`,
    `${line}.\n${line}`,
    `${line}\n=${line}`,
    `${line}\n`,
  ])('%j is none of several', (text) => {
    expect(joinedReading(text)).toBeUndefined();
  });
});
