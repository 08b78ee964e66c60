import { domainToUnicode } from 'node:url';
import { LOWER_DOTTED_I } from '../address-forms';
import { domainOf } from '../mail-address';
import type { Occurrence, Step } from './encoded-runs';
import { AT_SIGN, charactersAfter, charactersBefore, type SpelledCharacter } from './spelled-characters';

/** Each costs up to 64 characters on either side: a fraction of a millisecond for all. */
const AT_SIGNS_PER_STEP = 32;

/** The letter that has a form of its own at the end of a word. */
const SIGMAS: readonly string[] = ['Σ', 'σ', 'ς'];

/** Reads the characters that may stand at a place of a text. */
type Read = (text: string, place: number) => SpelledCharacter[];

/** Code points, any of which may stand in a place. */
type Codes = readonly number[];
/** A character in each of its forms: one place for `a` and `A`, but two for `SS`, the upper case of `ß`. */
type Unit = readonly (readonly Codes[])[];

/**
 * Finds an address in any spelling, whatever stands around it: in any case; each character as it is or encoded (`spelled-characters`); the
 * domain in either form, accents composed or not.
 *
 * Goes from each `@` to both sides, so that an address that is not there costs next to nothing. Nothing is compiled for an address: a
 * regular expression of its spellings took V8 up to 190 ms of one turn of the event loop.
 */
export class AddressPattern {
  /** Each from the `@` on. */
  private readonly localParts: readonly (readonly Unit[])[];
  private readonly domains: readonly (readonly Unit[])[];
  private readonly domain: string;

  /** @param email normal form */
  constructor(email: string) {
    const domain = domainOf(email);
    this.domain = domain;
    // `İ` also finds its lower case, which has no composed form that would find it.
    const localPart = email.slice(0, -domain.length - 1).replaceAll(LOWER_DOTTED_I, 'İ');
    this.localParts = formsOf([localPart]).map((form) => unitsOf(form, true));
    this.domains = formsOf([domain, domainToUnicode(domain) || domain]).map((form) => unitsOf(form, false));
  }

  /**
   * From left to right; what does not count is looked through for one that begins later. The event loop may have its turn in between.
   *
   * @param counts whether an occurrence is one, by what stands around it
   */
  *occurrencesIn(text: string, counts: (occurrence: Occurrence) => boolean): Generator<Step> {
    let [from, searched] = [0, 0];
    for (let at = atSign(text, 0), number = 1; at; at = atSign(text, searched), number += 1) {
      const occurrence = this.around(text, at, from);
      searched = at.start + 1;
      if (occurrence) {
        const isCounted = counts(occurrence);
        searched = from = isCounted ? occurrence.end : occurrence.start + 1;
        if (isCounted) yield occurrence;
      }
      if (number % AT_SIGNS_PER_STEP === 0) yield undefined;
    }
  }

  private around(text: string, at: Occurrence, from: number): Occurrence | undefined {
    const end = this.endOfDomain(text, at.end);
    if (end === undefined) return undefined;
    const starts = this.localParts
      .flatMap((localPart) => placesPast(localPart, text, at.start, charactersBefore))
      .filter((start) => start >= from);
    return starts.length === 0 ? undefined : { start: Math.min(...starts), end };
  }

  /** No two forms of a domain stand in one place. */
  private endOfDomain(text: string, start: number): number | undefined {
    // A mail may have hundreds of addresses of one domain.
    if (text.startsWith(this.domain, start)) return start + this.domain.length;
    const [end] = this.domains.flatMap((domain) => placesPast(domain, text, start, charactersAfter));
    return end;
  }
}

function atSign(text: string, from: number): Occurrence | undefined {
  AT_SIGN.lastIndex = from;
  const match = AT_SIGN.exec(text);
  return match ? { start: match.index, end: AT_SIGN.lastIndex } : undefined;
}

/** Where these characters, read one after the other from a place on, may be past. */
function placesPast(units: readonly Unit[], text: string, start: number, read: Read): number[] {
  let places = [start];
  for (const unit of units) {
    if (places.length === 0) break;
    const before = places;
    places = unit.flatMap((form) => form.reduce((reached, codes) => placesPastOne(codes, text, reached, read), before));
  }
  return places;
}

function placesPastOne(codes: Codes, text: string, places: readonly number[], read: Read): number[] {
  const past: number[] = [];
  for (const start of places) {
    for (const { code, place } of read(text, start)) {
      if (codes.includes(code) && !past.includes(place)) past.push(place);
    }
  }
  return past;
}

function formsOf(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => [text.normalize('NFC'), text.normalize('NFD')]))];
}

/** The characters of a text, which may be read backwards. */
function unitsOf(text: string, isBackwards: boolean): Unit[] {
  const ordered = <T>(list: T[]) => (isBackwards ? list.toReversed() : list);
  return ordered([...text]).map((character) => {
    const others = SIGMAS.includes(character) ? SIGMAS : [];
    const cases = new Set([character, character.toLowerCase(), character.toUpperCase(), ...others]);
    const forms = Array.from(cases, (form) => ordered(Array.from(form, (each) => each.codePointAt(0) ?? 0)));
    return forms.every(({ length }) => length === 1)
      ? [[forms.flat()]]
      : forms.map((form) => form.map((code) => [code]));
  });
}
