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

function referenceAfter(text: string, start: number): SpelledCharacter[] {
  const match = matchAt(REFERENCE_AFTER, text, start);
  if (!match) return [];
  const [whole, ...numbers] = match;
  return ofReference(numbers, start + whole.length);
}

function referenceBefore(text: string, end: number): SpelledCharacter[] {
  const [, whole, ...numbers] = matchAt(REFERENCE_BEFORE, text, end) ?? [];
  return whole === undefined ? [] : ofReference(numbers, end - whole.length);
}

function ofReference([decimal, hexadecimal, name]: readonly (string | undefined)[], place: number): SpelledCharacter[] {
  if (decimal) return [{ code: Number.parseInt(decimal, 10), place }];
  if (hexadecimal) return [{ code: Number.parseInt(hexadecimal, 16), place }];
  const code = CODES_BY_NAME.get(name);
  return code === undefined ? [] : [{ code, place }];
}

/** Digits that follow may belong to the text: `\x61b`. */
function escapesAfter(text: string, start: number): SpelledCharacter[] {
  const [whole, digits] = matchAt(ESCAPE_AFTER, text, start) ?? [];
  if (whole === undefined || digits === undefined) return [];
  const end = start + whole.length;
  return Array.from(digits, (_digit, left) => {
    const code = Number.parseInt(digits.slice(0, digits.length - left), 16);
    return { code, place: end - left };
  });
}

function escapeBefore(text: string, end: number): SpelledCharacter[] {
  const [, whole, digits] = matchAt(ESCAPE_BEFORE, text, end) ?? [];
  if (whole === undefined || digits === undefined) return [];
  return [{ code: Number.parseInt(digits, 16), place: end - whole.length }];
}

function octetsAfter(text: string, start: number): SpelledCharacter[] {
  const found: SpelledCharacter[] = [];
  const octets: string[] = [];
  let place = start;
  while (octets.length < MAX_OCTETS) {
    const [whole, , octet] = matchAt(OCTET_AFTER, text, place) ?? [];
    if (whole === undefined || octet === undefined || whole[0] !== text[start]) break;
    place += whole.length;
    octets.push(octet);
    found.push(...ofOctets(octets, place));
  }
  return found;
}

function octetsBefore(text: string, end: number): SpelledCharacter[] {
  const found: SpelledCharacter[] = [];
  const octets: string[] = [];
  let place = end;
  let lastSign: string | undefined;
  while (octets.length < MAX_OCTETS) {
    const [, sign, octet] = matchAt(OCTET_BEFORE, text, place) ?? [];
    if (sign === undefined || octet === undefined) break;
    lastSign ??= sign[0];
    if (sign[0] !== lastSign) break;
    place -= sign.length + octet.length;
    octets.unshift(octet);
    found.push(...ofOctets(octets, place));
  }
  return found;
}

/** In UTF-8; a single one in ISO 8859-1. */
function ofOctets(octets: readonly string[], place: number): SpelledCharacter[] {
  const bytes = Buffer.from(octets.join(''), 'hex');
  const [character = '', ...others] = bytes.toString(octets.length === 1 ? 'latin1' : 'utf8');
  return others.length === 0 ? [{ code: character.codePointAt(0) ?? 0, place }] : [];
}

function matchAt(pattern: RegExp, text: string, place: number): RegExpExecArray | null {
  pattern.lastIndex = place;
  return pattern.exec(text);
}
