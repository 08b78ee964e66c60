import fc from 'fast-check';
import { type JsonLimits, type ScanListener, scanJson } from './json-scan';
import { anyCharacter } from '../../../test/factories/any-character';

const LIMITS: JsonLimits = { maxDepth: 5, maxItems: 30 };
const scan = (text: string | Buffer, limits = LIMITS) => scanJson(Buffer.from(text), limits).problem;

const FORBIDDEN = ['__proto__', 'constructor', 'prototype'];

/** Raised for a long run: `FUZZ_RUNS=1000000 npx jest --selectProjects unit -- json-scan`. */
const FUZZ_RUNS = Number(process.env.FUZZ_RUNS ?? 20_000);

/** Passes over what concerns one element only, so that the scan goes on behind it. */
const OVERLOOKING: ScanListener = {
  open: () => undefined,
  close: () => undefined,
  next: () => undefined,
  string: () => false,
  report: (problem) => problem !== 'depth' && problem !== 'items',
};

/** How deep arrays and objects are nested in a value. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** All that is wrong with a JSON text, found the slow way: by parsing it and walking what comes out. */
function naiveProblems(text: string): Set<string> {
  const problems = new Set<string>();
  let items = 0;
  const check = (value: string): void => {
    if (value.includes('\0')) problems.add('nul');
    if (Buffer.from(value).toString() !== value) problems.add('surrogate');
  };
  const walk = (value: unknown, depth: number): void => {
    if (depth > LIMITS.maxDepth) problems.add('depth');
    if (typeof value === 'string') check(value);
    if (value === Infinity || value === -Infinity) problems.add('number');
    if (typeof value !== 'object' || value === null) return;
    const entries = Object.entries(value);
    items += Math.max(0, entries.length - 1) + (Array.isArray(value) ? 0 : entries.length);
    for (const [key, child] of entries) {
      if (!Array.isArray(value)) check(key);
      if (!Array.isArray(value) && FORBIDDEN.includes(key)) problems.add('forbidden-key');
      walk(child, typeof child === 'object' && child !== null ? depth + 1 : depth);
    }
  };
  const parsed: unknown = JSON.parse(text);
  walk(parsed, typeof parsed === 'object' && parsed !== null ? 1 : 0);
  if (items > LIMITS.maxItems) problems.add('items');
  return problems;
}

/** JSON texts with all the traps in them: odd strings and keys, huge numbers, blanks, every character escaped now and then. */
const jsonText = fc.letrec<{ text: string }>((tie) => {
  const blank = fc.constantFrom('', '', ' ', '\n\t', '  \r\n');
  const raw = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: fc.constantFrom('\0', '\ud83d', '\ude00', '"', '\\', 'a', '€') }),
    fc.constantFrom(...FORBIDDEN, '__proto', 'a'.repeat(40)),
  );
  const quoted = fc
    .tuple(raw, fc.boolean())
    .map(([value, escapeAll]) => (escapeAll ? escaped(value) : JSON.stringify(value)));
  const number = fc.constantFrom('0', '-1', '1.5e3', '1e400', '-1E+999', `1${'0'.repeat(350)}`, '1e-400');
  const array = fc
    .tuple(fc.array(tie('text'), { maxLength: 6 }), blank)
    .map(([all, space]) => `[${space}${all.join(`,${space}`)}]`);
  // Keys are unique: of two equal ones JSON.parse shows the reference only the last.
  const object = fc
    .tuple(
      fc.uniqueArray(fc.tuple(quoted, tie('text')), { maxLength: 6, selector: ([key]) => JSON.parse(key) as string }),
      blank,
    )
    .map(([all, space]) => `{${space}${all.map(([key, value]) => `${key}${space}:${space}${value}`).join(',')}}`);
  return {
    text: fc.oneof({ maxDepth: 6 }, fc.constantFrom('null', 'true', 'false'), number, quoted, array, object),
  };
}).text;

function escaped(value: string): string {
  const units = Array.from({ length: value.length }, (_, index) =>
    value.charCodeAt(index).toString(16).padStart(4, '0'),
  );
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`;
}

describe('scanJson', () => {
  it('agrees with parsing and walking on random JSON', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const expected = naiveProblems(text);
        // Numbers with an exponent count as items too, so near the limit the scan may be the stricter one.
        const extra = text.match(/[eE][+-]?\d|\d{300}/g)?.length ?? 0;
        const found = scan(text);
        if (found === undefined) expect([...expected]).toEqual([]);
        else if (found !== 'items' || extra === 0) expect([...expected]).toContain(found);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each(['"\\ud800"', '"\\ud800\\n"', '"\\udc00"', '"\\ud800\\ud800"', '"\\ud800x"'])(
    'sees how deep a text is behind the unpaired surrogate in %s',
    (string) => {
      const deep = `[${string},${'['.repeat(100)}`;
      expect(scanJson(Buffer.from(deep), LIMITS, OVERLOOKING).problem).toBe('depth');
    },
  );

  it('measures depth as JSON.parse does, whatever the strings hold', () => {
    const piece = fc.constantFrom(
      '\\ud800',
      '\\udc00',
      '\\ud83d\\ude00',
      '\\"',
      '\\\\',
      '\\n',
      '\\u0022',
      '[',
      '}',
      ',',
      'a',
      'é',
    );
    const string = fc.array(piece, { maxLength: 6 }).map((pieces) => `"${pieces.join('')}"`);
    const text = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 8, depthSize: 'max' },
        string,
        fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
        fc.array(fc.tuple(string, tie('value')), { maxLength: 3 }).map((members) => {
          return `{${members.map(([key, value]) => `${key}:${value}`).join(',')}}`;
        }),
      ),
    })).value;
    const limits = { maxDepth: 4, maxItems: 1_000_000 };
    fc.assert(
      fc.property(text, (json) => {
        const isTooDeep = depthOf(JSON.parse(json)) > limits.maxDepth;
        const found = scanJson(Buffer.from(json), limits, OVERLOOKING).problem;
        // A member that another of the same name has replaced is not in the value any more.
        if (found === 'depth' && !isTooDeep) expect(json).toContain('{');
        else expect(found).toBe(isTooDeep ? 'depth' : undefined);
      }),
      { numRuns: FUZZ_RUNS },
    );
  });

  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(() => scan(Buffer.from(bytes))).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['"\\u0000"', 'nul'],
    ['"\\ud800"', 'surrogate'],
    ['"\\ud800x"', 'surrogate'],
    ['"\\ud800\\n"', 'surrogate'],
    ['"\\ud800\\ud800"', 'surrogate'],
    ['"\\udc00"', 'surrogate'],
    ['"\\uD83D\\uDE00"', undefined],
    ['"\\\\u0000"', undefined],
    ['"\\\\\\u0000"', 'nul'],
    ['"\\"\\u0000"', 'nul'],
    [`"${'a'.repeat(100)}\\u0000"`, 'nul'],
    [`"${'a'.repeat(100)}\\"${'a'.repeat(100)}\\ud800"`, 'surrogate'],
    ['{"__proto__":1}', 'forbidden-key'],
    ['{"constructor"\n : 1}', 'forbidden-key'],
    ['{"a":{"prototype":1}}', 'forbidden-key'],
    ['{"\\u005f_proto\\u005f_":1}', 'forbidden-key'],
    ['{"a":"__proto__"}', undefined],
    ['["constructor"]', undefined],
    ['{"__PROTO__":1}', undefined],
    ['1e309', 'number'],
    ['-1e309', 'number'],
    ['1e308', undefined],
    [`1${'0'.repeat(308)}`, undefined],
    [`1${'0'.repeat(309)}`, 'number'],
    ['[[[[[1]]]]]', undefined],
    ['[[[[[[1]]]]]]', 'depth'],
    ['["[[[[[[[["]', undefined],
    [`[${'1,'.repeat(30)}1]`, undefined],
    [`[${'1,'.repeat(31)}1]`, 'items'],
    [`["${','.repeat(99)}"]`, undefined],
    ['"\\u', undefined],
    ['"\\', undefined],
    ['"', undefined],
    ['', undefined],
  ])('%s: %s', (text, problem) => {
    expect(scan(text)).toBe(problem);
  });

  it.each([
    ['{"a":1,"b":{"c":[{"d":2}]}}', 4],
    ['{"a":":","a":1}', 2],
    ['[":"]', 0],
  ])('counts the members of %s', (text, members) => {
    expect(scanJson(Buffer.from(text), LIMITS).members).toBe(members);
  });
});
