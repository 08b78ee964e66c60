/** HTML, section 13.5: names of characters that addresses have. */
export const CHARACTER_NAMES: Readonly<Record<string, string>> = {
  ...{ '@': 'commat', '.': 'period', '+': 'plus', _: 'lowbar', '&': 'amp', "'": 'apos', '!': 'excl', '#': 'num' },
  ...{ $: 'dollar', '%': 'percnt', '*': 'ast', '/': 'sol', '=': 'equals', '?': 'quest', '^': 'Hat', '`': 'grave' },
  ...{ '{': 'lcub', '|': 'vert', '}': 'rcub' },
};
const CODES_BY_NAME: ReadonlyMap<string, number> = new Map(
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

const SEMICOLON = 0x3b;
const CLOSING_BRACE = 0x7d;
const BEFORE_DIGITS = new Set([...'%=#xXu{'].map((sign) => sign.charCodeAt(0)));
/** Of the longest number with its zeros, and more than a `%` that is encoded three times has. */
const MAX_DIGITS = 14;
const MAX_OCTETS = 4;
/** What Node decodes invalid UTF-8 to. */
const NO_CHARACTER = 0xfffd;

/**
 * What the character at a place may be. A `%` that is encoded several times, and a `}` behind an escape, are read in one way only: no
 * domain has them.
 */
export function charactersAfter(text: string, start: number): SpelledCharacter[] {
  const plain = text.codePointAt(start);
  if (plain === undefined) return [];
  const found = [{ code: plain, place: start + (plain > 0xffff ? 2 : 1) }];
  const first = text[start];
  if (first === '%' || first === '=') found.push(...octetsAfter(text, start));
  else if (first === '&') found.push(...referenceAfter(text, start));
  else if (first === '\\') found.push(...escapesAfter(text, start));
  return found;
}

/** What the character that ends at a place may be. */
export function charactersBefore(text: string, end: number): SpelledCharacter[] {
  if (end === 0) return [];
  const plain = plainBefore(text, end);
  if (!mayEndSpelling(text, end)) return [plain];
  return [plain, ...octetsBefore(text, end), ...referenceBefore(text, end), ...escapeBefore(text, end)];
}

function plainBefore(text: string, end: number): SpelledCharacter {
  const pair = text.codePointAt(end - 2) ?? 0;
  return pair > 0xffff ? { code: pair, place: end - 2 } : { code: text.charCodeAt(end - 1), place: end - 1 };
}

/** By far most characters do not: this takes a fraction of what the expressions do. */
function mayEndSpelling(text: string, end: number): boolean {
  const last = text.charCodeAt(end - 1);
  if (last === SEMICOLON || last === CLOSING_BRACE) return true;
  let place = end;
  while (place > end - MAX_DIGITS && isHexadecimal(text.charCodeAt(place - 1))) place -= 1;
  return place < end && BEFORE_DIGITS.has(text.charCodeAt(place - 1));
}

function isHexadecimal(code: number): boolean {
  const lower = code | 0x20;
  return (code >= 0x30 && code <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

function referenceAfter(text: string, start: number): SpelledCharacter[] {
  const [whole = '', ...numbers] = matchAt(REFERENCE_AFTER, text, start) ?? [];
  return ofReference(numbers, start + whole.length);
}

function referenceBefore(text: string, end: number): SpelledCharacter[] {
  const [, whole = '', ...numbers] = matchAt(REFERENCE_BEFORE, text, end) ?? [];
  return ofReference(numbers, end - whole.length);
}

function ofReference(
  [decimal, hexadecimal, name = '']: readonly (string | undefined)[],
  place: number,
): SpelledCharacter[] {
  if (decimal) return [{ code: Number.parseInt(decimal, 10), place }];
  const code = hexadecimal ? Number.parseInt(hexadecimal, 16) : CODES_BY_NAME.get(name);
  return code === undefined ? [] : [{ code, place }];
}

/** Digits that follow may belong to the text: `\x61b`. */
function escapesAfter(text: string, start: number): SpelledCharacter[] {
  const [whole = '', digits = ''] = matchAt(ESCAPE_AFTER, text, start) ?? [];
  const end = start + whole.length;
  const digitsEnd = whole.endsWith('}') ? end - 1 : end;
  return [...digits].map((_digit, index) => {
    const left = digits.length - index - 1;
    return { code: Number.parseInt(digits.slice(0, index + 1), 16), place: left === 0 ? end : digitsEnd - left };
  });
}

function escapeBefore(text: string, end: number): SpelledCharacter[] {
  const [, whole = '', digits] = matchAt(ESCAPE_BEFORE, text, end) ?? [];
  return digits ? [{ code: Number.parseInt(digits, 16), place: end - whole.length }] : [];
}

function octetsAfter(text: string, start: number): SpelledCharacter[] {
  const found: SpelledCharacter[] = [];
  const octets: number[] = [];
  let place = start;
  for (let match = matchAt(OCTET_AFTER, text, place); match; match = matchAt(OCTET_AFTER, text, place)) {
    const [whole, , digits = ''] = match;
    if (whole[0] !== text[start]) break;
    place += whole.length;
    octets.push(Number.parseInt(digits, 16));
    found.push(...ofOctets(octets, place));
    if (octets.length === MAX_OCTETS) break;
  }
  return found;
}

function octetsBefore(text: string, end: number): SpelledCharacter[] {
  const found: SpelledCharacter[] = [];
  const octets: number[] = [];
  let place = end;
  let firstSign: string | undefined;
  for (let match = matchAt(OCTET_BEFORE, text, place); match; match = matchAt(OCTET_BEFORE, text, place)) {
    const [, sign = '', digits = ''] = match;
    firstSign ??= sign[0];
    if (sign[0] !== firstSign) break;
    place -= sign.length + digits.length;
    octets.unshift(Number.parseInt(digits, 16));
    found.push(...ofOctets(octets, place));
    if (octets.length === MAX_OCTETS) break;
  }
  return found;
}

/** In UTF-8; a single one in ISO 8859-1 as well. */
function ofOctets(octets: readonly number[], place: number): SpelledCharacter[] {
  const [first = 0] = octets;
  if (octets.length === 1) return [{ code: first, place }];
  const decoded = Buffer.from(octets).toString('utf8');
  const code = decoded.codePointAt(0) ?? NO_CHARACTER;
  return code !== NO_CHARACTER && decoded.length === (code > 0xffff ? 2 : 1) ? [{ code, place }] : [];
}

function matchAt(pattern: RegExp, text: string, place: number): RegExpExecArray | null {
  pattern.lastIndex = place;
  return pattern.exec(text);
}
