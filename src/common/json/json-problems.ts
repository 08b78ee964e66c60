import { ValidationError } from '../errors/app-error';
import { fieldPath } from './field-path';
import { type JsonLimits, type JsonProblem, type ScanListener, scanJson } from './json-scan';

export interface JsonFinding {
  readonly problem: JsonProblem;
  /** The field it concerns (`to[1].email`, `body`). */
  readonly path: string;
}

export interface JsonFindings {
  /** Concerns the text as a whole. */
  readonly whole: JsonFinding | undefined;
  /** By the index of the element of the top-level array that holds it; the first of each. */
  readonly elements: ReadonlyMap<number, JsonFinding>;
}

/** An array or object in which a reader is. */
export interface JsonLevel {
  readonly isArray: boolean;
  /** Of the member or element that is being read; undefined inside an object before its first key. */
  readonly key: string | number | undefined;
  /** Whether the next string of an object is a key. */
  readonly awaitsKey: boolean;
}

interface Level extends JsonLevel {
  key: string | number | undefined;
  awaitsKey: boolean;
  readonly names: Set<string>;
}

export const MAX_DEPTH = 32;

const MESSAGES: Record<JsonProblem, string> = {
  depth: `must not be nested deeper than ${MAX_DEPTH} levels`,
  items: 'holds too many values',
  nul: 'must not contain NUL characters, which text in UTF-16 has when it is read as UTF-8: decode it as UTF-16',
  surrogate: 'must not contain unpaired surrogates',
  'forbidden-key': 'must not use the keys __proto__, constructor or prototype',
  'duplicate-key': 'is given twice',
  number: 'is too large a number, or has too many digits',
  length: 'has a name or a text that is too long',
};

/** The validation error for a problem of the JSON text. */
export function refused({ problem, path }: JsonFinding): ValidationError {
  return new ValidationError({ [path]: [MESSAGES[problem]] });
}

/** What no element can have for itself: the work for the whole text. */
export const OF_THE_WHOLE: ReadonlySet<JsonProblem> = new Set(['depth', 'items']);

/**
 * Finds the problems of a text again, with their places, for the refusal. `scanJson` alone has no places and no equal keys,
 * which keeps it cheap for the texts that have no problem.
 * @param elementwise problems inside the elements of a top-level array are those elements' own
 */
export function explainJson(bytes: Buffer, limits: JsonLimits, elementwise: boolean): JsonFindings {
  const places = new Places(elementwise);
  scanJson(bytes, limits, places);
  return places;
}

/** How many members the objects of a parsed value have: fewer than its text when two of one object had the same name. */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let members = Array.isArray(value) ? 0 : children.length;
  for (const child of children) {
    if (typeof child === 'object') members += countMembers(child);
  }
  return members;
}

class Places implements ScanListener, JsonFindings {
  whole: JsonFinding | undefined;
  readonly elements = new Map<number, JsonFinding>();
  private readonly levels: Level[] = [];

  constructor(private readonly elementwise: boolean) {}

  open(isArray: boolean): void {
    this.levels.push({ isArray, key: isArray ? 0 : undefined, awaitsKey: !isArray, names: new Set() });
  }

  close(): void {
    this.levels.pop();
  }

  next(): void {
    const top = this.levels.at(-1);
    if (!top) return;
    if (top.isArray) top.key = Number(top.key) + 1;
    else top.awaitsKey = true;
  }

  string(text: Buffer): boolean {
    const top = this.levels.at(-1);
    if (!top?.awaitsKey) return false;
    const name = nameOf(text.toString('utf8'));
    const isRepeated = top.names.has(name);
    top.names.add(name);
    top.key = name;
    top.awaitsKey = false;
    return isRepeated;
  }

  report(problem: JsonProblem): boolean {
    const isWhole = OF_THE_WHOLE.has(problem);
    const finding = { problem, path: isWhole ? 'body' : pathOf(this.levels) };
    const first = this.levels[0];
    if (isWhole || !this.elementwise || first?.isArray !== true) {
      this.whole ??= finding;
      return false;
    }
    const index = Number(first.key);
    if (!this.elements.has(index)) this.elements.set(index, finding);
    return true;
  }
}

/** Where a reader is. A problem of a key itself is its object's. */
export function pathOf(levels: readonly JsonLevel[]): string {
  return fieldPath(levels.flatMap(({ key, awaitsKey }) => (key === undefined || awaitsKey ? [] : [key])));
}

/** A key as it is meant; one that is no JSON as it is written, `JSON.parse` refuses it next. */
function nameOf(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1);
  }
}
