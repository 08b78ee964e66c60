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

interface Level {
  readonly isArray: boolean;
  /** Undefined inside an object before its first key. */
  key: string | number | undefined;
  /** Whether the next string of an object is a key. */
  awaitsKey: boolean;
  readonly names: Set<string>;
}

/** What no element can have for itself: the work for the whole text. */
const OF_THE_WHOLE: ReadonlySet<JsonProblem> = new Set(['depth', 'items']);

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
    const finding = { problem, path: isWhole ? 'body' : this.path() };
    const first = this.levels[0];
    if (isWhole || !this.elementwise || first?.isArray !== true) {
      this.whole ??= finding;
      return false;
    }
    const index = Number(first.key);
    if (!this.elements.has(index)) this.elements.set(index, finding);
    return true;
  }

  /** A problem of a key itself is its object's. */
  private path(): string {
    return fieldPath(this.levels.flatMap(({ key, awaitsKey }) => (key === undefined || awaitsKey ? [] : [key])));
  }
}

/** A key as it is meant; one that is no JSON as it is written, `JSON.parse` refuses it next. */
function nameOf(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1);
  }
}
