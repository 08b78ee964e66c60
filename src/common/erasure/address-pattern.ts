import { domainToUnicode } from 'node:url';
import { domainOf } from '../mail-address';
import { spelling } from './address-spelling';
import type { Occurrence } from './encoded-runs';

/** Finds an address in any spelling, whatever stands around it. */
export class AddressPattern {
  private readonly first: RegExp;
  /** Of what follows it. */
  private readonly others: readonly RegExp[];

  constructor(email: string) {
    const [first = '', ...others] = addressPatterns(email);
    this.first = new RegExp(first, 'g');
    this.others = others.map((source) => new RegExp(source, 'y'));
  }

  /** The first at this place of the text or behind it. */
  next(text: string, from: number): Occurrence | undefined {
    this.first.lastIndex = from;
    for (let match = this.first.exec(text); match; match = this.first.exec(text)) {
      const end = this.endOf(text, this.first.lastIndex);
      if (end !== undefined) return { start: match.index, end };
      this.first.lastIndex = match.index + 1;
    }
    return undefined;
  }

  /** @param start where the first piece ends @returns undefined where the address does not go on */
  private endOf(text: string, start: number): number | undefined {
    let end = start;
    for (const pattern of this.others) {
      pattern.lastIndex = end;
      if (!pattern.test(text)) return undefined;
      end = pattern.lastIndex;
    }
    return end;
  }
}

/** Characters of a piece: V8 takes a millisecond to compile an expression for one, and more in longer ones. */
const PIECE = 6;
/** An encoded spelling of these begins with the character itself (`%25`, `&amp;`, `=3d`): from there on a match may end in several places. */
const AMBIGUOUS = /^[%&=\\]?$/;

/**
 * Regular expressions for every spelling of an address, one after the other: in any case; each character as it is, percent-encoded (RFC
 * 3986, once or several times), quoted-printable (RFC 2045), as an HTML character reference or an escape of JSON and JavaScript; the domain
 * in either form, accents composed or not. What stands around it does not count.
 *
 * Where one of them matches, it ends in one place only, so that none has to be tried again when the next one does not match.
 *
 * @param email normal form
 */
export function addressPatterns(email: string): string[] {
  const domain = domainOf(email);
  const localPart = email.slice(0, -domain.length - 1);
  const units = [...unitsOf([localPart]), { character: '@', source: spelling('@') }];
  units.push(...unitsOf([domain, domainToUnicode(domain) || domain]));
  const pieces: string[] = [];
  let piece = '';
  let count = 0;
  let isAmbiguous = false;
  for (const [at, { character, source }] of units.entries()) {
    piece += source;
    count += 1;
    isAmbiguous ||= AMBIGUOUS.test(character);
    const next = units[at + 1]?.character;
    // A spelling may end with one of its own (`\u{61}`, `&#97;`).
    if (next !== undefined && (count < PIECE || isAmbiguous || /^[};]/.test(next))) continue;
    pieces.push(piece);
    [piece, count] = ['', 0];
  }
  return pieces;
}

interface Unit {
  /** Empty: several. */
  readonly character: string;
  readonly source: string;
}

/** Characters, or all in one where there are several forms. */
function unitsOf(texts: readonly string[]): Unit[] {
  const forms = new Set(texts.flatMap((text) => [text.normalize('NFC'), text.normalize('NFD')]));
  const [first = '', ...others] = [...forms].map((form) => [...form]);
  if (others.length === 0) return [...first].map((character) => ({ character, source: spelling(character) }));
  const sources = [first, ...others].map((form) => [...form].map(spelling).join(''));
  return [{ character: '', source: `(?:${sources.join('|')})` }];
}
