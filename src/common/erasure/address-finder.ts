import { setImmediate as nextTurn } from 'node:timers/promises';
import { domainToUnicode } from 'node:url';
import { AddressPattern } from './address-pattern';
import { FairTurns, WorkTurns } from '../async/fair-turns';
import { domainOf } from '../mail-address';
import { occurrencesIn, occurrencesWithin, type Sought } from './decodings';
import { allTexts, asciiTexts, type Occurrence, runsOf, type Step, withReplaced } from './encoded-runs';
import { REPLACEMENT, withoutAddress } from './message-replacements';

/** Characters searched at a time. */
const WINDOW = 32 * 1024;
/** Milliseconds until the event loop gets a turn: text made to be slow takes 50 for a window. */
const TURN_MS = 5;
/** No spelling is longer than this many times the address. */
const MAX_SPELLING = 64;

/** Characters that would belong to a local part which ends there. */
const LOCAL_PART_BEFORE = /[A-Za-z0-9][._+-]*$/;
/** An encoded character that ends there (`%3D`, `\u003d`, `\n`): a separator, although it ends in a letter or a digit. */
const ENCODED_BEFORE = /(?:%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[bfnrtv])$/;
/**
 * A longer last label. A dot may end a sentence or begin a file extension, and a hyphen joins the words of a file name; no top-level domain
 * goes on with one. It is better to remove too much than too little.
 */
const LABEL_AFTER = /^[A-Za-z0-9]/;
/** Characters around an occurrence that decide whether it counts. */
const SURROUNDINGS = 64;

/** Finds one address wherever it occurs in texts, also encoded twice (`MAX_ENCODINGS`), but not as a part of another address. */
export class AddressFinder {
  private readonly pattern: AddressPattern;
  private readonly sought: Sought;
  /** Upper bound of an occurrence, and so the overlap of windows. */
  readonly maxLength: number;
  /** Without it, the character set decides how bytes are read. */
  readonly isAscii: boolean;
  /** For what is searched piece by piece. Apart from the turns of others, since a transaction waits for it. */
  readonly turns = new WorkTurns('', new FairTurns(), TURN_MS);

  constructor(private readonly email: string) {
    this.pattern = new AddressPattern(email);
    this.maxLength = MAX_SPELLING * email.length;
    this.isAscii = /^[\x00-\x7f]*$/.test(email) && !/(?:^|[@.])xn--/i.test(email);
    const minBytes = shortestLength(email);
    const runs = runsOf(minBytes, this.isAscii ? asciiTexts : allTexts);
    this.sought = { minBytes, ...runs, spelled: (text) => this.spelled(text) };
  }

  /** As written, whatever the text may encode. @param text of some hundred kB at most */
  holdsPlainly(text: string): boolean {
    for (const step of this.spelled(text)) if (step) return true;
    return false;
  }

  holds(text: string): boolean {
    for (const step of occurrencesIn(text, this.sought)) if (step) return true;
    return false;
  }

  /** As `holds`, also within a longer address (`welcome-ann@x.example`): where finding too much loses nothing. */
  holdsWithin(text: string): boolean {
    const spelled = (each: string) => this.pattern.occurrencesIn(each, () => true);
    for (const step of occurrencesIn(text, { ...this.sought, spelled })) if (step) return true;
    return false;
  }

  /** As `holds`, with turns of the event loop. */
  async holdsLong(text: string): Promise<boolean> {
    for await (const _found of inTurns(occurrencesIn(text, this.sought))) return true;
    return false;
  }

  /** @param text of some hundred kB at most; else `cleanLong` */
  clean(text: string): string {
    return withReplaced(text, [...occurrencesIn(text, this.sought)].filter(isFound), REPLACEMENT);
  }

  /** A text of any length, with turns of the event loop. */
  async cleanLong(text: string): Promise<string> {
    return withReplaced(text, await this.occurrencesInLong(text), REPLACEMENT);
  }

  /**
   * As `cleanLong`, for a raw message whose fields and parts stay valid; undefined when the address is within lines of base64.
   */
  async cleanMessage(message: string): Promise<string | undefined> {
    const found = await this.occurrencesInLong(message);
    if (found.some((each) => isBase64Lines(message, each))) return undefined;
    return withoutAddress(message, found, domainOf(this.email));
  }

  private async occurrencesInLong(text: string): Promise<Occurrence[]> {
    const found: Occurrence[] = [];
    for await (const each of inTurns(this.inWindows(text))) found.push(each);
    return found;
  }

  /** A JSON value without the address in any name or text, with turns of the event loop; the same one when it is nowhere in it. */
  async cleanValue(value: unknown): Promise<unknown> {
    if (typeof value === 'string') return this.clean(value);
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value);
    const cleaned = new Map<string, unknown>();
    for (const [name, member] of members) {
      await this.turns.next();
      const isTaken = (each: string): boolean => cleaned.has(each) || Object.hasOwn(value, each);
      cleaned.set(Array.isArray(value) ? name : this.newName(name, isTaken), await this.cleanValue(member));
    }
    if (members.every(([name, member]) => cleaned.has(name) && cleaned.get(name) === member)) return value;
    return Array.isArray(value) ? [...cleaned.values()] : Object.fromEntries(cleaned);
  }

  /** Two names that differ only in the address stay two, also beside one that an earlier erasure replaced. */
  private newName(name: string, isTaken: (name: string) => boolean): string {
    const cleaned = this.clean(name);
    if (cleaned === name || !isTaken(cleaned)) return cleaned;
    let number = 2;
    while (isTaken(`${cleaned}-${number}`)) number += 1;
    return `${cleaned}-${number}`;
  }

  private *inWindows(text: string): Generator<Step> {
    for (let start = 0; start < text.length; start += WINDOW) {
      yield* this.inWindow(text, start, start + WINDOW + this.maxLength);
    }
  }

  private *inWindow(text: string, start: number, end: number): Generator<Step> {
    const window = text.slice(start, end);
    for (const each of this.spelled(window)) {
      const occurrence = each && moved(each, start);
      // Text around the window counts too.
      if (!occurrence || !isPartOfAnother(text, occurrence)) yield occurrence;
    }
    for (const step of occurrencesWithin(window, this.sought)) yield step && moved(step, start);
  }

  private spelled(text: string): Iterable<Step> {
    return this.pattern.occurrencesIn(text, (occurrence) => !isPartOfAnother(text, occurrence));
  }
}

/** Matches; the event loop gets a turn between long steps. */
async function* inTurns(steps: Iterable<Step>): AsyncGenerator<Occurrence> {
  let endsMs = performance.now() + TURN_MS;
  for (const step of steps) {
    if (step) yield step;
    if (performance.now() < endsMs) continue;
    await nextTurn();
    endsMs = performance.now() + TURN_MS;
  }
}

function isFound(step: Step): step is Occurrence {
  return step !== undefined;
}

function moved({ start, end }: Occurrence, by: number): Occurrence {
  return { start: start + by, end: end + by };
}

/** A bound: a letter in another case, or with its accent, may take half as much. */
function shortestLength(email: string): number {
  const domain = domainOf(email);
  const readable = email.slice(0, -domain.length) + (domainToUnicode(domain) || domain);
  return readable === email && /^[\x00-\x7f]*$/.test(email) ? email.length : readable.length >> 1;
}

/** Whole lines, as in a part of a message (RFC 2045 section 6.8), not one word of a text. */
function isBase64Lines(text: string, { start, end }: Occurrence): boolean {
  const isWhole =
    (start === 0 || text[start - 1] === '\n') && /^[ \t]*(?:\r?\n|$)/.test(text.slice(end, end + SURROUNDINGS));
  return isWhole && /^[A-Za-z0-9+/\s]+={0,2}$/.test(text.slice(start, end));
}

function isPartOfAnother(text: string, { start, end }: Occurrence): boolean {
  const before = text.slice(Math.max(0, start - SURROUNDINGS), start);
  if (LOCAL_PART_BEFORE.test(before) && !ENCODED_BEFORE.test(before)) return true;
  return LABEL_AFTER.test(text.slice(end, end + SURROUNDINGS));
}
