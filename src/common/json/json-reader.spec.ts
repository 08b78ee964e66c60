import fc from 'fast-check';
import { AppError, ValidationError } from '../errors/app-error';
import { parseElements, parseInTurns, parseJson } from './parse-json';
import { MAX_DEPTH } from './json-problems';
import { JsonReader } from './json-reader';
import { loopTurnsOf } from '../../../test/setup/loop-turns';

/** Raised for a long run: `FUZZ_RUNS=1000000 npx jest --selectProjects unit -- json-reader`. */
const FUZZ_RUNS = Number(process.env.FUZZ_RUNS ?? 5_000);
const MIB = 1024 * 1024;
const ITEMS = 100;

type Read = { value: unknown } | { field: string };

function attempt(work: () => unknown): Read {
  try {
    return { value: withoutErrors(work()) };
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationError);
    return { field: fieldOf(error as ValidationError) };
  }
}

function fieldOf({ details }: AppError): string {
  return Object.keys((details as { validation: object }).validation).join();
}

/** Elements that are refused, as the field that each names. */
function withoutErrors(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((element: unknown) => (element instanceof AppError ? { refused: fieldOf(element) } : element));
}

function stepwise(bytes: Buffer, elementwise: boolean): unknown {
  const reader = new JsonReader(bytes, { maxDepth: MAX_DEPTH, maxItems: ITEMS }, elementwise);
  while (!reader.step());
  return reader.value;
}

const wholeOf = (bytes: Buffer, elementwise: boolean) =>
  elementwise ? parseElements(bytes, ITEMS) : parseJson(bytes, ITEMS);

/** JSON texts, and what is nearly one. */
const jsonText = fc.letrec<{ text: string }>((tie) => {
  const blank = fc.constantFrom('', '', '', ' ', '\n\t', '\r');
  const piece = fc.constantFrom(
    ...['a', 'é', '€', '😀', '[', '"', '\\"', '\\\\', '\\n', '\\u0022', '\\u00e9', '\\ud83d\\ude00', '\\/'],
    ...['__proto__', 'constructor', '\\u005f_proto__', '\\u0000', '\\ud800', '\\udc00', '\\x', '\\u12', '\n', '\\'],
  );
  const good = fc.constantFrom('a', 'b', 'é', '\\n', '\\"', '\\u00e9', '\\ud83d\\ude00', 'constructor');
  const string = fc
    .oneof(
      { weight: 4, arbitrary: fc.array(good, { maxLength: 3 }) },
      { weight: 1, arbitrary: fc.array(piece, { maxLength: 5 }) },
    )
    .map((pieces) => `"${pieces.join('')}"`);
  const plain = fc.constantFrom(
    ...['true', 'false', 'null', '0', '-1', '1.5e3', '1e400', '-1E+999', `1${'0'.repeat(350)}`, '9'.repeat(2_000)],
    ...[
      '9'.repeat(2_001),
      `0.${'0'.repeat(3_000)}1`,
      `0.${'0'.repeat(3_000)}1-1`,
      'nul',
      'tru',
      '01',
      '1.',
      '-',
      '+1',
      '.5',
      'NaN',
      '1e',
      "'a'",
      '',
    ],
  );
  const list = <T>(element: fc.Arbitrary<T>) => fc.array(element, { maxLength: 4 });
  const separator = fc.constantFrom(',', ',', ',', ',', ' ,', ', ', ',,', '');
  const array = fc.tuple(list(tie('text')), blank, separator).map(([all, space, comma]) => {
    return `[${space}${all.join(comma)}${space}]`;
  });
  const member = fc
    .tuple(string, fc.constantFrom(':', ':', ': ', ' :', ''), tie('text'))
    .map(([key, colon, value]) => key + colon + value);
  const object = fc
    .tuple(list(member), separator, fc.constantFrom('}', '}', '}', '}', ']', ',}', ''))
    .map(([all, comma, close]) => `{${all.join(comma)}${close}`);
  const good_ = fc.constantFrom('true', 'null', '12', '-1.5e3');
  return {
    text: fc.oneof(
      { maxDepth: 5 },
      { weight: 3, arbitrary: good_ },
      { weight: 1, arbitrary: plain },
      { weight: 4, arbitrary: string },
      { weight: 4, arbitrary: array },
      { weight: 4, arbitrary: object },
    ),
  };
}).text;

describe('JsonReader', () => {
  it.each([false, true])('takes and refuses what JSON.parse and the scan do (elements apart: %s)', (elementwise) => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const bytes = Buffer.from(text);
        const expected = attempt(() => wholeOf(bytes, elementwise));
        const read = attempt(() => stepwise(bytes, elementwise));
        // Of a text with several faults, one may name another one than the other.
        if ('value' in expected) expect(read).toEqual(expected);
        else expect(read).toHaveProperty('field');
      }),
      { numRuns: FUZZ_RUNS },
    );
  });

  /** Around the ends of the pieces in which a long string is read. */
  it('reads long strings as JSON.parse does, wherever they are cut', () => {
    const unit = fc.constantFrom(
      ...[
        'a',
        'é',
        '€',
        '😀',
        '\\n',
        '\\"',
        '\\\\',
        '\\u00e9',
        '\\ud83d\\ude00',
        '\\ud83d',
        '\\ude00',
        '\\u0000',
        '\\',
        '"',
      ],
    );
    const end = fc.tuple(
      fc.constantFrom('a', 'é', '\\n'),
      fc.nat({ max: 14 }),
      fc.array(unit, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(0, 1, 64 * 1024),
    );
    fc.assert(
      fc.property(end, fc.boolean(), ([fill, before, units, after], elementwise) => {
        const room = Math.floor((64 * 1024 - before) / Buffer.byteLength(fill));
        const text = `["${fill.repeat(room)}${'b'.repeat(before)}${units.join('')}${'c'.repeat(after)}"]`;
        const bytes = Buffer.from(text);
        const expected = attempt(() => wholeOf(bytes, elementwise));
        const read = attempt(() => stepwise(bytes, elementwise));
        expect('value' in read).toBe('value' in expected);
        if ('value' in expected) expect(read).toEqual(expected);
      }),
      { numRuns: 400 },
    );
  });

  it.each([
    ['a bare second byte', Buffer.from([0x22, 0x80, 0x22])],
    ['a character that is cut off', Buffer.from([0x22, 0xe2, 0x82, 0x22])],
    ['half a pair in three bytes', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['second bytes only', Buffer.concat([Buffer.from('"'), Buffer.alloc(70_000, 0x80), Buffer.from('"')])],
  ])('refuses what is no UTF-8: %s', (_what, bytes) => {
    expect(() => stepwise(bytes, false)).toThrow(
      expect.objectContaining({ details: { validation: { body: ['is not well-formed UTF-8'] } } }),
    );
  });

  it('reports the position of broken JSON', () => {
    expect(() => stepwise(Buffer.from('{"é":1,}'), false)).toThrow(
      expect.objectContaining({ details: { validation: { body: ['is not valid JSON at byte 8'] } } }),
    );
  });

  it.each([
    ['{"to":["a",{"email":"\\u0000"}]}', 'to[1].email'],
    ['{"a":{"\\u0000":1}}', 'a'],
    ['{"__proto__":1}', 'body'],
    ['{"a":{"b":[{"x":1,"y":2,"x":3}]}}', 'a.b[0].x'],
    ['{"subject":1,"\\u0073ubject":2}', 'subject'],
    [`{"n":[1,1e999]}`, 'n[1]'],
    [`{"n":${'1'.repeat(2_001)}}`, 'n'],
    [`[${'['.repeat(40)}`, 'body'],
    [
      `[${Array(ITEMS + 2)
        .fill('1')
        .join()}]`,
      'body',
    ],
  ])('%.40s names %s', (text, field) => {
    expect(attempt(() => stepwise(Buffer.from(text), false))).toEqual({ field });
    expect(attempt(() => parseJson(Buffer.from(text), ITEMS))).toEqual({ field });
  });

  it('names the places of several refused elements', () => {
    const text = '[{"a":"\\ud800"},{"ok":[1]},{"b":{"constructor":{"x":1}}},3,{"c":1,"c":2}]';
    expect(attempt(() => stepwise(Buffer.from(text), true))).toEqual({
      value: [{ refused: '0.a' }, { ok: [1] }, { refused: '2.b' }, 3, { refused: '4.c' }],
    });
  });

  it.each([
    ['a text that no route takes', `["ok","${'é'.repeat(10 * MIB + 1)}"]`, 1],
    ['a name that no route takes', `["ok",{"${'k'.repeat(MIB + 1)}":1}]`, 1],
    ['base64 of more than any body holds', `["ok","${'A'.repeat(40 * MIB + 1)}"]`, 1],
  ])('refuses %s, that element alone', (_what, text, index) => {
    const [first, second] = stepwise(Buffer.from(text), true) as unknown[];
    expect(first).toBe('ok');
    expect(fieldOf(second as AppError)).toBe(String(index));
    expect(attempt(() => stepwise(Buffer.from(text), false))).toHaveProperty('field');
  });

  it.each([
    ['a long text', `["${'a'.repeat(4 * MIB)}"]`],
    ['escapes', `["${'\\n'.repeat(2 * MIB)}"]`],
    ['characters of several bytes', `["${'é€'.repeat(MIB)}"]`],
    ['blanks', `[${' '.repeat(4 * MIB)}]`],
    [
      'many texts',
      `[${Array(4_000)
        .fill(`"${'b'.repeat(1_000)}"`)
        .join()}]`,
    ],
    ['many tokens', `[${Array(40_000).fill('1').join()}]`],
    ['a number without end', `[${'1'.repeat(4 * MIB)}]`],
  ])('lets others have their turn while it reads %s', async (_what, text) => {
    const options = { elementwise: true, maxItems: 100_000 };
    expect(await loopTurnsOf(() => parseInTurns(Buffer.from(text), options, 'a'))).toBeGreaterThanOrEqual(10);
  });
});
