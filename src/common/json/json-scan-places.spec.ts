import { type JsonLimits, type JsonProblem, type ScanListener, scanJson } from './json-scan';

const LIMITS: JsonLimits = { maxDepth: 5, maxItems: 30 };
const scan = (text: string) => scanJson(Buffer.from(text), LIMITS).problem;

/** Records what a scan reports, and passes over every problem where the test says so. */
class Recorder implements ScanListener {
  readonly told: string[] = [];

  constructor(
    private readonly passesOver = false,
    private readonly doubles: readonly string[] = [],
  ) {}

  open = (isArray: boolean) => void this.told.push(isArray ? '[' : '{');
  close = () => void this.told.push('end');
  next = () => void this.told.push(',');
  string = (text: Buffer) => {
    this.told.push(text.toString());
    return this.doubles.includes(text.toString());
  };
  report = (problem: JsonProblem) => {
    this.told.push(problem);
    return this.passesOver;
  };
}

function told(text: string, passesOver = false, doubles: readonly string[] = []): string {
  const recorder = new Recorder(passesOver, doubles);
  scanJson(Buffer.from(text), LIMITS, recorder);
  return recorder.told.join(' ');
}

describe('what a scan reports', () => {
  it.each([
    ['{"a":[1,"b"],"c":{}}', '{ "a" [ , "b" end , "c" { end end'],
    ['[true, -1.5e1, "x\\"y\\\\"]', '[ , , "x\\"y\\\\" end'],
    ['1', ''],
    ['"abc', ''],
    ['"abc\\', ''],
    ['"abc\\u00', ''],
    ['["\\ud800",{"constructor":1e999}]', '[ surrogate'],
  ])('of %s', (text, expected) => {
    expect(told(text)).toBe(expected);
  });

  it('goes on behind each problem that is passed over', () => {
    const text = '["\\ud800","\\u0000",{"constructor":1e999,"a":-1e999},[[[[[1]]]]]]';
    expect(told(text, true)).toBe(
      '[ surrogate "\\ud800" , nul "\\u0000" , { forbidden-key "constructor" number , "a" number end , ' +
        '[ [ [ [ [ depth end end end end end end',
    );
  });

  it('takes the word of the listener for a key that is there twice', () => {
    expect(scanJson(Buffer.from('{"a":1}'), LIMITS, new Recorder(false, ['"a"'])).problem).toBe('duplicate-key');
    expect(told('{"a":1,"b":2}', false, ['"a"'])).toBe('{ "a" duplicate-key');
  });

  it('keeps to the first problem, and goes no further', () => {
    expect(scanJson(Buffer.from('{"a":"\\u0000","b":1e999}'), LIMITS)).toEqual({ problem: 'nul', members: 1 });
    expect(scanJson(Buffer.from('{"a":"\\ud800\\u0000","b":1}'), LIMITS)).toEqual({ problem: 'surrogate', members: 1 });
    expect(scanJson(Buffer.from('{"a":1e999,"b":1}'), LIMITS)).toEqual({ problem: 'number', members: 1 });
  });
});

describe('the edges of what is refused', () => {
  it.each<[string, JsonProblem | undefined]>([
    ['"\\ud7ff"', undefined],
    ['"\\ue000"', undefined],
    ['"\\udfff"', 'surrogate'],
    ['"\\uD800"', 'surrogate'],
    ['"\\uDBFF"', 'surrogate'],
    ['"\\uDFFF"', 'surrogate'],
    ['"\\ud800\\udc00"', undefined],
    ['"\\ud800\\udfff"', undefined],
    ['"\\udbff\\udfff"', undefined],
    ['"\\ud800\\udbff"', 'surrogate'],
    ['"\\ud800\\ue000"', 'surrogate'],
    ['"\\udc00\\udc00"', 'surrogate'],
    ['"\\ud800_udc00"', 'surrogate'],
    ['"\\ud800\\ndc00"', 'surrogate'],
    ['"\\ud800\\', 'surrogate'],
    ['"\\ud80g"', undefined],
    ['"\\u000g"', undefined],
    ['"\\u0000"', 'nul'],
    ['"\\u00000"', 'nul'],
    ['"\\u0001"', undefined],
    ['"\\u1000"', undefined],
    ['{"constructor"\t:1}', 'forbidden-key'],
    ['{"constructor"\r:1}', 'forbidden-key'],
    ['{"constructor"\n:1}', 'forbidden-key'],
    ['{"constructor" :1}', 'forbidden-key'],
    ['{"constructor"_:1}', undefined],
    ['{"constructor"', undefined],
    ['{"constructors":1}', undefined],
    ['{"\\u0063\\u006f\\u006e\\u0073\\u0074\\u0072\\u0075\\u0063\\u0074\\u006f\\u0072":1}', 'forbidden-key'],
    ['{"\\u0063onstructors":1}', undefined],
    ['{"construct\\x":1}', undefined],
    ['1E309', 'number'],
    ['-1E+309', 'number'],
    ['1.5e308', undefined],
    ['1e-400', undefined],
    [`-1${'0'.repeat(309)}`, 'number'],
    [`[${Array(31).fill('1'.repeat(300)).join()}]`, undefined],
    [`[${Array(16).fill('1'.repeat(301)).join()}]`, 'items'],
    [`[${Array(15).fill('1'.repeat(301)).join()}]`, undefined],
    [`[${Array(16).fill('1e1').join()}]`, 'items'],
    [`[${Array(16).fill('1E1').join()}]`, 'items'],
    [`[${Array(15).fill('1e1').join()}]`, undefined],
    [`{${Array(16).fill('"a":1').join()}}`, 'items'],
    [`{${Array(15).fill('"a":1').join()}}`, undefined],
    ['[[[[[[', 'depth'],
    ['{"a":[{"a":[{"a":[', 'depth'],
    ['[[],[],[],[],[],[]]', undefined],
    ['[[[[[]]]],[[[[[', 'depth'],
  ])('%s: %s', (text, problem) => {
    expect(scan(text)).toBe(problem);
  });
});

describe('the cost of a scan', () => {
  /** How often each byte is sought from a place on. */
  function searches(text: string): Record<string, number> {
    const bytes = Buffer.from(text);
    const counts: Record<string, number> = {};
    const indexOf = bytes.indexOf.bind(bytes);
    bytes.indexOf = (value: never, from: never) => {
      counts[String.fromCharCode(value)] = (counts[String.fromCharCode(value)] ?? 0) + 1;
      return indexOf(value, from);
    };
    expect(scanJson(bytes, { maxDepth: 5, maxItems: 1_000_000 }).problem).toBeUndefined();
    return counts;
  }

  it('is one pass, however many strings there are, and however many escapes in one', () => {
    const long = 'a'.repeat(30);
    expect(searches(`[${Array(1_000).fill(`"${long}"`).join()}]`)).toEqual({ '"': 1_000, '\\': 1 });
    expect(searches(`"${`${long}\\n`.repeat(1_000)}"`)).toEqual({ '"': 1, '\\': 1_000 });
    expect(searches(`[${Array(1_000).fill('"short"').join()}]`)).toEqual({});
  });
});
