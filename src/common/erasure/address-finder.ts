import { setImmediate as nextTurn } from 'node:timers/promises';
import { domainToUnicode } from 'node:url';
import { addressPattern } from './address-pattern';
import { domainOf } from '../mail-address';
import { holds, occurrencesIn, occurrencesWithin, type Sought } from './decodings';
import { allTexts, asciiTexts, type Occurrence, runsOf, withReplaced } from './encoded-runs';

/** What is left of an address within a text. */
export const REPLACEMENT = '[erased]';

/** Characters that are looked through in one turn of the event loop: some milliseconds, twenty of what is made to be slow. */
const WINDOW = 32 * 1024;
/** No spelling is longer than so many times the address. */
const MAX_SPELLING = 64;

/** Letters, digits and signs that would belong to a local part which ends there. */
const LOCAL_PART_BEFORE = /[A-Za-z0-9][._+-]*$/;
/** An encoded character that ends there (`%3D`, `\u003d`, `\n`): a separator, although it ends in a letter or a digit. */
const ENCODED_BEFORE = /(?:%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[bfnrtv])$/;
/** More of the last label. A dot may end a sentence or begin a file's extension: rather too much is taken than too little. */
const LABEL_AFTER = /^-*[A-Za-z0-9]/;
/** As much of what stands around an occurrence as decides. */
const SURROUNDINGS = 64;

/**
 * Finds one address wherever it is written in texts, also where it is encoded twice (`DEPTH`), but not where it is a part of another
 * address.
 */
export class AddressFinder {
  private readonly pattern: RegExp;
  private readonly sought: Sought;
  /** No occurrence is longer: windows of a text have to overlap by so much. */
  readonly maxLength: number;
  /** Otherwise how its bytes are to be read depends on the character set. */
  readonly isAscii: boolean;

  /** @param email normal form */
  constructor(email: string) {
    const pattern = addressPattern(email);
    this.pattern = new RegExp(pattern, 'g');
    this.maxLength = MAX_SPELLING * email.length;
    this.isAscii = /^[\x00-\x7f]*$/.test(email) && !/(?:^|[@.])xn--/i.test(email);
    const minBytes = shortestLength(email);
    const runs = runsOf(minBytes, this.isAscii ? asciiTexts : allTexts);
    this.sought = { minBytes, ...runs, spelled: (text) => this.spelled(text) };
  }

  /** As it is written, whatever the text may encode. @param text of some hundred kB at most */
  holdsPlainly(text: string): boolean {
    return this.spelled(text).next().done !== true;
  }

  /** @param text of some hundred kB at most */
  holds(text: string): boolean {
    return holds(text, this.sought);
  }

  /** @param text of some hundred kB at most; else `cleanLong` */
  clean(text: string): string {
    return withReplaced(text, [...occurrencesIn(text, this.sought)], REPLACEMENT);
  }

  /** A text of any length; the event loop has its turn in between. */
  async cleanLong(text: string): Promise<string> {
    return withReplaced(text, await this.occurrencesInLong(text), REPLACEMENT);
  }

  /**
   * As `cleanLong`, for a raw message whose parts can be read afterwards; undefined when the address is within lines of base64: without
   * them a part could not be decoded.
   */
  async cleanMessage(message: string): Promise<string | undefined> {
    const found = await this.occurrencesInLong(message);
    return found.some((each) => isBase64Lines(message, each)) ? undefined : withReplaced(message, found, REPLACEMENT);
  }

  private async occurrencesInLong(text: string): Promise<Occurrence[]> {
    const found: Occurrence[] = [];
    for (let start = 0; start < text.length; start += WINDOW) {
      if (start > 0) await nextTurn();
      for (const each of this.inWindow(text, start, start + WINDOW + this.maxLength)) found.push(each);
    }
    return found;
  }

  /** A JSON value without the address, in no name and in no text. */
  cleanValue(value: unknown): unknown {
    if (typeof value === 'string') return this.clean(value);
    if (Array.isArray(value)) return value.map((element) => this.cleanValue(element));
    if (typeof value !== 'object' || value === null) return value;
    const cleaned = new Map<string, unknown>();
    for (const [name, member] of Object.entries(value)) {
      cleaned.set(
        this.newName(name, (each) => cleaned.has(each) || Object.hasOwn(value, each)),
        this.cleanValue(member),
      );
    }
    return Object.fromEntries(cleaned);
  }

  /** Two names that differ in the address only stay two, and so does one that an earlier erasure has left. */
  private newName(name: string, isTaken: (name: string) => boolean): string {
    const cleaned = this.clean(name);
    if (cleaned === name || !isTaken(cleaned)) return cleaned;
    let number = 2;
    while (isTaken(`${cleaned}-${number}`)) number += 1;
    return `${cleaned}-${number}`;
  }

  private *inWindow(text: string, start: number, end: number): Generator<Occurrence> {
    const window = text.slice(start, end);
    for (const each of this.spelled(window)) {
      const occurrence = moved(each, start);
      // What stands around the window counts too.
      if (!isPartOfAnother(text, occurrence)) yield occurrence;
    }
    for (const each of occurrencesWithin(window, this.sought)) yield moved(each, start);
  }

  private *spelled(text: string): Generator<Occurrence> {
    for (let from = 0; ;) {
      this.pattern.lastIndex = from;
      const match = this.pattern.exec(text);
      if (!match) return;
      const occurrence = { start: match.index, end: this.pattern.lastIndex };
      const isPart = isPartOfAnother(text, occurrence);
      from = isPart ? match.index + 1 : occurrence.end;
      if (!isPart) yield occurrence;
    }
  }
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

/** Whole lines, as a part of a message has them (RFC 2045 section 6.8), not a word of a text. */
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
