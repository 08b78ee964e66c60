import { domainToUnicode } from 'node:url';
import { domainOf } from '../mail-address';

/** Marks that stand for a character in a regular expression. */
const SPECIAL = /[\\^$.*+?()[\]{}|/-]/g;
const ALPHANUMERIC = /^[a-z0-9]$/i;

/** HTML, section 13.5: names of characters that addresses have. */
export const CHARACTER_NAMES: Readonly<Record<string, string>> = {
  ...{ '@': 'commat', '.': 'period', '+': 'plus', _: 'lowbar', '&': 'amp', "'": 'apos', '!': 'excl', '#': 'num' },
  ...{ $: 'dollar', '%': 'percnt', '*': 'ast', '/': 'sol', '=': 'equals', '?': 'quest', '^': 'Hat', '`': 'grave' },
  ...{ '{': 'lcub', '|': 'vert', '}': 'rcub' },
};
/** Full width and small, and UTF-7 (RFC 2152). */
const OTHER_ATS = ['\uff20', '\ufe6b', '\\+AEA-'];

/**
 * A regular expression for every spelling of an address: in any case; each character as it is, percent-encoded (RFC 3986, once or
 * several times), quoted-printable (RFC 2045), as an HTML character reference or an escape of JSON and JavaScript; the domain
 * in either form, accents composed or not. What stands around it does not count.
 *
 * @param email normal form
 */
export function addressPattern(email: string): string {
  const domain = domainOf(email);
  const localPart = email.slice(0, -domain.length - 1);
  const domains = [domain, domainToUnicode(domain) || domain];
  return `${anyForm([localPart])}${spelling('@')}${anyForm(domains)}`;
}

function anyForm(texts: readonly string[]): string {
  const forms = new Set(texts.flatMap((text) => [text.normalize('NFC'), text.normalize('NFD')]));
  return `(?:${[...forms].map((form) => [...form].map(spelling).join('')).join('|')})`;
}

/** Repetitions are bounded, so that an occurrence is never longer than `AddressFinder` looks ahead. */
function spelling(character: string): string {
  const cases = [...new Set([character, character.toLowerCase(), character.toUpperCase()])];
  const plain = ALPHANUMERIC.test(character)
    ? `[${cases.join('')}]`
    : cases.map((form) => form.replace(SPECIAL, '\\$&')).join('|');
  const others = character === '@' ? OTHER_ATS : [];
  return `(?:${[plain, ...others, ...cases.flatMap(encodings)].join('|')})`;
}

function encodings(character: string): string[] {
  const charsets = [Buffer.from(character), ...(isLatin(character) ? [Buffer.from(character, 'latin1')] : [])];
  const written = charsets.map((bytes) => [...bytes].map((octet) => anyCase(octet.toString(16).padStart(2, '0'))));
  const code = character.codePointAt(0) ?? 0;
  const hexadecimal = anyCase(code.toString(16));
  const name = CHARACTER_NAMES[character];
  return [
    ...written.map((octets) => octets.map((octet) => `%(?:25){0,3}${octet}`).join('')),
    ...written.map((octets) => octets.map((octet) => `=${octet}`).join('')),
    `&(?:amp;){0,2}#(?:0{0,6}${code}|[xX]0{0,6}${hexadecimal})(?:;|(?![0-9A-Fa-f]))`,
    `\\\\{1,4}(?:[ux]0{0,2}|u\\{0{0,4})${hexadecimal}\\}?`,
    ...(name === undefined ? [] : [`&(?:amp;){0,2}${name};`]),
  ];
}

/** Beyond ASCII, and one octet in ISO 8859-1. */
function isLatin(character: string): boolean {
  return /^[\x80-\xff]$/.test(character);
}

function anyCase(digits: string): string {
  return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
