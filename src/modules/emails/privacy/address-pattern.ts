import { domainToUnicode } from 'node:url';
import { domainOf } from '../../../common/mail-address';

/** Marks that stand for a character in a regular expression. */
const SPECIAL = /[\\^$.*+?()[\]{}|/-]/g;
const ALPHANUMERIC = /^[a-z0-9]$/i;

/**
 * A regular expression that finds an address within texts, in the dialect that Postgres and ECMAScript have in common:
 * in any case, percent-encoded (once or twice) or with HTML character references, with its domain in either form. Not
 * where it is a part of another address.
 *
 * @param email normal form
 */
export function addressPattern(email: string): string {
  const domain = domainOf(email);
  const localPart = email.slice(0, -domain.length - 1);
  const forms = [...new Set([domain, domainToUnicode(domain) || domain])].map(spellings);
  return `${BEFORE}${spellings(localPart)}${spelling('@')}(?:${forms.join('|')})${AFTER}`;
}

/**
 * Letters, digits and dots before it would belong to the local part, unless they end a percent-encoded character (`%3D`).
 * Other signs that a local part may have, such as `=` and `/`, are far more often a separator.
 */
const BEFORE = '(?:(?<![A-Za-z0-9._+-])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))';
/** More of the last label. A dot may end a sentence or begin a file's extension: rather too much is taken than too little. */
const AFTER = '(?![A-Za-z0-9-])';

function spellings(text: string): string {
  return [...text].map(spelling).join('');
}

function spelling(character: string): string {
  const cases = [...new Set([character, character.toLowerCase(), character.toUpperCase()])];
  if (ALPHANUMERIC.test(character)) return cases.length > 1 ? `[${cases.slice(-2).join('')}]` : character;
  const forms = cases.flatMap((form) => [form.replace(SPECIAL, '\\$&'), percentEncoded(form), ...references(form)]);
  return `(?:${forms.join('|')})`;
}

function percentEncoded(character: string): string {
  const octets = [...Buffer.from(character)].map((octet) => octet.toString(16).padStart(2, '0'));
  return octets.map((octet) => `%(?:25)?${[...octet].map(anyCase).join('')}`).join('');
}

function anyCase(digit: string): string {
  return /[a-f]/.test(digit) ? `[${digit}${digit.toUpperCase()}]` : digit;
}

/** HTML, section 13.5: by number; of the names only that of the @ matters. */
function references(character: string): string[] {
  const code = character.codePointAt(0) ?? 0;
  const hexadecimal = [...code.toString(16)].map(anyCase).join('');
  const named = character === '@' ? ['&commat;'] : [];
  return [`&#0*${code};`, `&#[xX]0*${hexadecimal};`, ...named];
}
