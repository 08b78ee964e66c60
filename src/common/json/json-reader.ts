import { ValidationError } from '../errors/app-error';
import { type JsonFinding, type JsonLevel, OF_THE_WHOLE, pathOf, refused } from './json-problems';
import { FINITE_DIGITS, FORBIDDEN_KEYS, type JsonLimits, type JsonProblem, LONGEST_NUMBER } from './json-scan';
import { isOfNumber, JsonNumber } from './json-number';
import { JsonText } from './json-text';

/** Bytes that are read in one step: a millisecond or two, whatever they are. */
const STEP = 256 * 1024;
/** What a token costs beside its bytes, in bytes. */
const TOKEN = 64;

type Members = Record<string, unknown>;

interface Level extends JsonLevel {
  readonly target: unknown[] | Members;
  key: string | number | undefined;
  awaitsKey: boolean;
}

/** What may come next. */
type Expected = 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'comma or end' | 'nothing';

const BEFORE_VALUE: ReadonlySet<Expected> = new Set(['value', 'value or end']);
const BEFORE_KEY: ReadonlySet<Expected> = new Set(['key', 'key or end']);
/** Kinds of values by their first byte. */
const LITERALS: ReadonlyMap<number, readonly [text: string, value: boolean | null]> = new Map([
  [0x74, ['true', true]],
  [0x66, ['false', false]],
  [0x6e, ['null', null]],
]);
const [QUOTE, COMMA, COLON, OPEN_ARRAY, OPEN_OBJECT] = [0x22, 0x2c, 0x3a, 0x5b, 0x7b];
const [CLOSE_ARRAY, CLOSE_OBJECT] = [0x5d, 0x7d];

/**
 * Reads a JSON text (RFC 8259) step by step, for bodies of which `JSON.parse` would hold up the event loop for a tenth of a
 * second. It takes and refuses what `scanJson`, `JSON.parse` and `explainJson` do together; beyond that it refuses texts that no
 * route takes, because they would be a long piece of work each (`length`).
 *
 * `step` throws ValidationError for what concerns the text as a whole.
 */
export class JsonReader {
  private at = 0;
  private left = 0;
  private items = 0;
  private expected: Expected = 'value';
  private text: JsonText | undefined;
  private longNumber: JsonNumber | undefined;
  private readonly levels: Level[] = [];
  private readonly elements = new Map<number, JsonFinding>();
  private result: unknown;

  /** @param elementwise a problem inside an element of a top-level array makes that one its `ValidationError` */
  constructor(
    private readonly bytes: Buffer,
    private readonly limits: JsonLimits,
    private readonly elementwise: boolean,
  ) {}

  /** Does one step; @returns whether the text has been read. @throws ValidationError */
  step(): boolean {
    this.left = STEP;
    while (this.left > 0) {
      if (this.text) this.readText(this.text);
      else if (this.longNumber) this.readLongNumber(this.longNumber);
      else if (!this.skipBlank()) {
        if (this.at >= this.bytes.length) return this.end();
        this.left -= TOKEN;
        this.readToken(this.bytes[this.at] as number);
      }
    }
    return false;
  }

  /** Once it has been read. */
  get value(): unknown {
    const { result, elements } = this;
    if (elements.size === 0 || !Array.isArray(result)) return result;
    return result.map((value: unknown, index) => {
      const finding = elements.get(index);
      return finding ? refused(finding) : value;
    });
  }

  private end(): true {
    // No bytes are no value.
    if (this.expected !== 'nothing' && this.bytes.length > 0) throw this.fault();
    return true;
  }

  private skipBlank(): boolean {
    const byte = this.bytes[this.at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false;
    this.advance(1);
    return true;
  }

  private readToken(byte: number): void {
    if (byte === QUOTE) this.openText();
    else if (byte === COMMA) this.separate();
    else if (byte === COLON) this.passColon();
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.close(byte === CLOSE_ARRAY);
    else if (BEFORE_VALUE.has(this.expected)) this.readValue(byte);
    else throw this.fault();
  }

  /** Any but a text. */
  private readValue(byte: number): void {
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.open(byte === OPEN_ARRAY);
    else if (isOfNumber(byte)) this.readNumber();
    else this.readLiteral(byte);
  }

  private open(isArray: boolean): void {
    const target = isArray ? [] : {};
    this.put(target);
    this.levels.push({ isArray, target, key: isArray ? 0 : undefined, awaitsKey: !isArray });
    if (this.levels.length > this.limits.maxDepth) this.report('depth');
    this.expected = isArray ? 'value or end' : 'key or end';
    this.advance(1);
  }

  private close(isArray: boolean): void {
    const isEmpty = this.expected === (isArray ? 'value or end' : 'key or end');
    if ((!isEmpty && this.expected !== 'comma or end') || this.levels.at(-1)?.isArray !== isArray) throw this.fault();
    this.levels.pop();
    this.afterValue();
    this.advance(1);
  }

  private separate(): void {
    const top = this.levels.at(-1);
    if (this.expected !== 'comma or end' || !top) throw this.fault();
    this.countItem();
    if (top.isArray) top.key = Number(top.key) + 1;
    else top.awaitsKey = true;
    this.expected = top.isArray ? 'value' : 'key';
    this.advance(1);
  }

  private passColon(): void {
    if (this.expected !== 'colon') throw this.fault();
    this.countItem();
    this.expected = 'value';
    this.advance(1);
  }

  private openText(): void {
    const isKey = BEFORE_KEY.has(this.expected);
    if (!isKey && !BEFORE_VALUE.has(this.expected)) throw this.fault();
    this.advance(1);
    this.text = new JsonText(this.bytes, isKey);
  }

  private readText(text: JsonText): void {
    const { next, problem } = text.read(this.at);
    this.advance(next - this.at);
    if (problem) this.report(problem);
    if (!text.isClosed) return;
    this.text = undefined;
    if (text.isKey) this.takeKey(text.value);
    else this.put(text.value);
  }

  private takeKey(name: string): void {
    const top = this.levels.at(-1) as Level;
    const isForbidden = FORBIDDEN_KEYS.includes(name);
    if (isForbidden) this.report('forbidden-key');
    // Of an element that is refused already, nothing is kept.
    top.key = isForbidden ? '' : name;
    top.awaitsKey = false;
    if (Object.hasOwn(top.target, top.key)) this.report('duplicate-key');
    this.expected = 'colon';
  }

  private readNumber(): void {
    let end = this.at;
    const most = this.at + LONGEST_NUMBER;
    while (end <= most && isOfNumber(this.bytes[end])) end += 1;
    if (end > most) {
      this.longNumber = new JsonNumber();
      return;
    }
    const text = this.bytes.toString('latin1', this.at, end);
    const value = this.numberOf(text);
    if (/e/i.test(text) || text.length > FINITE_DIGITS) this.countItem();
    if (!Number.isFinite(value)) this.report('number');
    this.put(value);
    this.advance(end - this.at);
  }

  private numberOf(text: string): number {
    try {
      return JSON.parse(text) as number;
    } catch {
      throw this.fault();
    }
  }

  private readLongNumber(number: JsonNumber): void {
    const byte = this.bytes[this.at];
    if (isOfNumber(byte)) {
      number.read(byte);
      this.advance(1);
      return;
    }
    if (!number.isWhole) throw this.fault();
    this.longNumber = undefined;
    this.countItem();
    this.report('number');
    this.put(0);
  }

  private readLiteral(byte: number): void {
    const [text, value] = LITERALS.get(byte) ?? ['', null];
    const isThere = this.bytes.toString('latin1', this.at, this.at + text.length) === text;
    if (text === '' || !isThere) throw this.fault();
    this.put(value);
    this.advance(text.length);
  }

  private put(value: unknown): void {
    const top = this.levels.at(-1);
    if (!top) this.result = value;
    else if (Array.isArray(top.target)) top.target.push(value);
    else top.target[String(top.key)] = value;
    this.afterValue();
  }

  private afterValue(): void {
    this.expected = this.levels.length === 0 ? 'nothing' : 'comma or end';
  }

  private countItem(): void {
    this.items += 1;
    if (this.items > this.limits.maxItems) this.report('items');
  }

  private advance(by: number): void {
    this.at += by;
    this.left -= by;
  }

  private report(problem: JsonProblem): void {
    const isWhole = OF_THE_WHOLE.has(problem);
    const finding = { problem, path: isWhole ? 'body' : pathOf(this.levels) };
    const first = this.levels[0];
    if (isWhole || !this.elementwise || first?.isArray !== true) throw refused(finding);
    const index = Number(first.key);
    if (!this.elements.has(index)) this.elements.set(index, finding);
  }

  private fault(): ValidationError {
    return new ValidationError({ body: [`is not valid JSON at byte ${this.at}`] });
  }
}
