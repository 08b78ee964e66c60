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

/** A regular expression for one character. Repetitions are bounded, so that an occurrence is never longer than the overlap of `AddressFinder`'s windows. */
export function spelling(character: string): string {
  const cases = [...new Set([character, character.toLowerCase(), character.toUpperCase()])];
  const plain = ALPHANUMERIC.test(character)
    ? `[${cases.join('')}]`
    : cases.map((form) => form.replace(SPECIAL, '\\$&')).join('|');
  const others = character === '@' ? OTHER_ATS : [];
  return `(?:${[plain, ...others, ...encodings(cases)].join('|')})`;
}

/** Both cases in one expression, which halves its compilation; V8 repeats that after some garbage collections. */
function encodings(cases: readonly string[]): string[] {
  const written = cases.flatMap((form) => [Buffer.from(form), ...(isLatin(form) ? [Buffer.from(form, 'latin1')] : [])]);
  const octets = written.map((bytes) => [...bytes].map((octet) => octet.toString(16).padStart(2, '0')));
  const single = octets.filter(({ length }) => length === 1).flat();
  const several = octets.filter(({ length }) => length > 1);
  const codes = cases.map((form) => form.codePointAt(0) ?? 0);
  const hexadecimal = anyOf(codes.map((code) => code.toString(16)));
  const names = cases.flatMap((form) => CHARACTER_NAMES[form] ?? []);
  return [
    ...(single.length > 0 ? [`%(?:25){0,3}${anyOf(single)}`, `=${anyOf(single)}`] : []),
    ...several.map((each) => each.map((octet) => `%(?:25){0,3}${anyCase(octet)}`).join('')),
    ...several.map((each) => each.map((octet) => `=${anyCase(octet)}`).join('')),
    `&(?:amp;){0,2}#(?:0{0,6}${anyOf(codes.map(String))}|[xX]0{0,6}${hexadecimal})(?:;|(?![0-9A-Fa-f]))`,
    `\\\\{1,4}(?:[ux]0{0,2}|u\\{0{0,4})${hexadecimal}\\}?`,
    ...names.map((name) => `&(?:amp;){0,2}${name};`),
  ];
}

/** Numbers, in digits of any case. The octets of a letter's two cases differ in their first digit. */
function anyOf(numbers: readonly string[]): string {
  const [first = '', ...others] = new Set(numbers);
  if (others.length === 0) return anyCase(first);
  const tail = first.slice(1);
  if (![first, ...others].every((number) => number.length === 2 && number.endsWith(tail))) {
    return `(?:${[first, ...others].map(anyCase).join('|')})`;
  }
  const heads = [first, ...others].map(([head = '']) => head);
  return `[${heads.join('')}${heads.join('').toUpperCase()}]${anyCase(tail)}`;
}

/** Beyond ASCII, and one octet in ISO 8859-1. */
function isLatin(character: string): boolean {
  return /^[\x80-\xff]$/.test(character);
}

function anyCase(digits: string): string {
  return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
