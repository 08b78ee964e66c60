/** HTML, section 13.5: names of characters that addresses have. */
export const CHARACTER_NAMES: Readonly<Record<string, string>> = {
  ...{ '@': 'commat', '.': 'period', '+': 'plus', _: 'lowbar', '&': 'amp', "'": 'apos', '!': 'excl', '#': 'num' },
  ...{ $: 'dollar', '%': 'percnt', '*': 'ast', '/': 'sol', '=': 'equals', '?': 'quest', '^': 'Hat', '`': 'grave' },
  ...{ '{': 'lcub', '|': 'vert', '}': 'rcub' },
};
const CODES_BY_NAME: ReadonlyMap<string | undefined, number> = new Map(
  Object.entries(CHARACTER_NAMES).map(([character, name]) => [name, character.charCodeAt(0)]),
);

/** A character as it is or encoded. */
export interface SpelledCharacter {
  /** Its code point. */
  readonly code: number;
  /** Where its spelling ends, or begins for one that was read backwards. */
  readonly place: number;
}

/**
 * `@` in every spelling: in those of any character (below), full width and small, and in UTF-7 (RFC 2152). Repetitions are bounded, as all
 * over this file, so that an occurrence is never longer than the overlap of `AddressFinder`'s windows.
 */
export const AT_SIGN =
  /@|\uff20|\ufe6b|\+AEA-|%(?:25){0,3}40|=40|&(?:amp;){0,2}(?:#(?:0{0,6}64|[xX]0{0,6}40)(?:;|(?![0-9A-Fa-f]))|commat;)|\\{1,4}(?:[ux]0{0,2}|u\{0{0,4})40\}?/g;

/** Percent-encoded (RFC 3986), once or several times, and quoted-printable (RFC 2045). */
const OCTET = String.raw`(%(?:25){0,3}|=)([0-9A-Fa-f]{2})`;
/** An HTML character reference: of a decimal, a hexadecimal number, or a name. */
const REFERENCE = String.raw`&(?:amp;){0,2}(?:#(?:0{0,6}([1-9][0-9]{0,6})|[xX]0{0,6}([1-9A-Fa-f][0-9A-Fa-f]{0,5}))(?:;|(?![0-9A-Fa-f]))|([A-Za-z]{3,6});)`;
/** An escape of JSON and JavaScript. */
const ESCAPE = String.raw`\\{1,4}(?:[ux]0{0,2}|u\{0{0,4})([1-9A-Fa-f][0-9A-Fa-f]{0,5})\}?`;

const OCTET_AFTER = new RegExp(OCTET, 'y');
const REFERENCE_AFTER = new RegExp(REFERENCE, 'y');
const ESCAPE_AFTER = new RegExp(ESCAPE, 'y');
const OCTET_BEFORE = new RegExp(`(?<=${OCTET})`, 'y');
const REFERENCE_BEFORE = new RegExp(`(?<=(${REFERENCE}))`, 'y');
const ESCAPE_BEFORE = new RegExp(`(?<=(${ESCAPE}))`, 'y');

/** Most characters are none of these: a look-up takes a fraction of the time of the expressions above. */
const FIRST: ReadonlySet<string | undefined> = new Set('%=&\\');
const LAST: ReadonlySet<string | undefined> = new Set('0123456789ABCDEFabcdef;}');
/** Up to the digits of the longest number with its zeros; a `%` that is encoded three times has fewer. */
const MAY_END = /(?<=[;}]|[%=#xXu{][0-9A-Fa-f]{1,14})/y;

/** Of a character in UTF-8. */
const MAX_OCTETS = 4;

/**
 * What the character at a place may be. A `%` that is encoded several times, and a `}` behind an escape, are read in one way only: no
 * domain has them.
 */
export function charactersAfter(text: string, start: number): SpelledCharacter[] {
  const code = text.codePointAt(start) ?? 0;
  const plain = { code, place: start + String.fromCodePoint(code).length };
  if (!FIRST.has(text[start])) return [plain];
  return [plain, ...octetsAfter(text, start), ...referenceAfter(text, start), ...escapesAfter(text, start)];
}

/** What the character that ends at a place may be. */
export function charactersBefore(text: string, end: number): SpelledCharacter[] {
  const pair = text.codePointAt(end - 2) ?? 0;
  const isPair = pair > 0xffff;
  const plain = isPair ? { code: pair, place: end - 2 } : { code: text.charCodeAt(end - 1), place: end - 1 };
  if (!LAST.has(text[end - 1]) || !matchAt(MAY_END, text, end)) return [plain];
  return [plain, ...octetsBefore(text, end), ...referenceBefore(text, end), ...escapeBefore(text, end)];
}

type Characters = Generator<SpelledCharacter, void>;

function* referenceAfter(text: string, start: number): Characters {
  const match = matchAt<[string, ...string[]]>(REFERENCE_AFTER, text, start);
  if (!match) return;
  const [whole, ...numbers] = match;
  yield* ofReference(numbers, start + whole.length);
}

function* referenceBefore(text: string, end: number): Characters {
  const match = matchAt<[string, string, ...string[]]>(REFERENCE_BEFORE, text, end);
  if (!match) return;
  const [, whole, ...numbers] = match;
  yield* ofReference(numbers, end - whole.length);
}

function* ofReference([decimal, hexadecimal, name]: readonly (string | undefined)[], place: number): Characters {
  if (decimal) yield { code: Number.parseInt(decimal, 10), place };
  if (hexadecimal) yield { code: Number.parseInt(hexadecimal, 16), place };
  const code = CODES_BY_NAME.get(name);
  if (code !== undefined) yield { code, place };
}

/** Digits that follow may belong to the text: `\x61b`. */
function* escapesAfter(text: string, start: number): Characters {
  const match = matchAt<[string, string]>(ESCAPE_AFTER, text, start);
  if (!match) return;
  const [whole, digits] = match;
  for (let length = digits.length; length > 0; length -= 1) {
    yield { code: Number.parseInt(digits.slice(0, length), 16), place: start + whole.length - digits.length + length };
  }
}

function* escapeBefore(text: string, end: number): Characters {
  const match = matchAt<[string, string, string]>(ESCAPE_BEFORE, text, end);
  if (!match) return;
  const [, whole, digits] = match;
  yield { code: Number.parseInt(digits, 16), place: end - whole.length };
}

function* octetsAfter(text: string, start: number): Characters {
  const octets: string[] = [];
  let place = start;
  while (octets.length < MAX_OCTETS) {
    const match = matchAt<[string, string, string]>(OCTET_AFTER, text, place);
    if (!match || match[0][0] !== text[start]) return;
    const [whole, , octet] = match;
    place += whole.length;
    octets.push(octet);
    yield* ofOctets(octets, place);
  }
}

function* octetsBefore(text: string, end: number): Characters {
  const octets: string[] = [];
  let [place, lastSign] = [end, ''];
  while (octets.length < MAX_OCTETS) {
    const match = matchAt<[string, string, string]>(OCTET_BEFORE, text, place);
    if (!match) return;
    const [, sign, octet] = match;
    lastSign ||= sign.slice(0, 1);
    if (!sign.startsWith(lastSign)) return;
    place -= sign.length + octet.length;
    octets.unshift(octet);
    yield* ofOctets(octets, place);
  }
}

/** In UTF-8; a single one in ISO 8859-1. */
function* ofOctets(octets: readonly string[], place: number): Characters {
  const bytes = Buffer.from(octets.join(''), 'hex');
  const [character, ...others] = bytes.toString(octets.length === 1 ? 'latin1' : 'utf8');
  const code = character?.codePointAt(0);
  if (code !== undefined && others.length === 0) yield { code, place };
}

/** @returns the match and its groups; those of an alternative that was not taken are undefined */
function matchAt<Groups extends readonly string[]>(pattern: RegExp, text: string, place: number): Groups | null {
  pattern.lastIndex = place;
  return pattern.exec(text) as unknown as Groups | null;
}
