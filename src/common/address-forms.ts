// The spellings in which one address may be stored: case, accents, and the letters whose case is not one to one.
import { addressKey } from './mail-address';

/** What has several lower-case forms. */
const HAS_FORMS = /[σς]/;

/**
 * The keys that entries about a person may be stored under, in order: more than one only of an address with the Greek letter sigma,
 * whose lower case depends on what stands around it. Stored keys are never rewritten: a hashed one could not be.
 */
export function addressKeys(email: string): string[] {
  const key = addressKey(email);
  return [...new Set(withSigmas(key))].sort();
}

/** Whether `addressKeys` of a key are several. */
export function hasForms(key: string): boolean {
  return HAS_FORMS.test(key);
}

/** The same for all addresses of one person, in any case; nothing is stored under it. */
export function personKey(email: string): string {
  return everySigma(addressKey(email));
}

/** Whether two addresses are those of one person. */
export function isSameAddress(one: string, other: string): boolean {
  return personKey(one) === personKey(other);
}

/** What SQL `lower`, with whichever locale, makes of an address that is the same as this one, see `lowerInSql`. */
export function lowerForms(email: string): string[] {
  const dotted = email.replaceAll('İ', LOWER_DOTTED_I);
  const forms = [addressKey(email), email.toLowerCase(), lowerInC(dotted), lowerInC(upperCase(everySigma(dotted)))];
  return [...new Set(forms.flatMap(withSigmas))];
}

/** The lower case of `İ` (U+0130): an `i` and a dot of its own. SQL `lower` makes a plain `i` of the letter, or leaves it as it is. */
export const LOWER_DOTTED_I = 'i\u0307';

/** SQL: the lower case of a stored address, one of its `lowerForms`. */
export function lowerInSql(address: string): string {
  return `lower(replace(${address}, 'İ', '${LOWER_DOTTED_I}'))`;
}

/** What an index of lower-case addresses has a person under who has these `lowerForms`; a plain `i` may be another person's. */
export function lowerFormsInIndex(forms: readonly string[]): string[] {
  const written = ['İ', 'i', LOWER_DOTTED_I];
  return [...new Set(forms.flatMap((form) => written.map((letter) => form.replaceAll(LOWER_DOTTED_I, letter))))];
}

/** The result of SQL `lower` with the locale C: non-ASCII letters stay as they are. */
function lowerInC(email: string): string {
  return email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Upper case for letters with exactly one capital letter, so that the result cannot be another person's address. */
function upperCase(email: string): string {
  return email.replace(/\p{Ll}/gu, (letter) => {
    const capital = letter.toUpperCase();
    return capital.toLowerCase() === letter ? capital : letter;
  });
}

/**
 * A small sigma is σ or ς: by its place in the word as people write, by its place between dots as well for `toLowerCase`, and always σ for
 * SQL `lower` of the embedded database.
 */
function withSigmas(form: string): string[] {
  if (!hasForms(form)) return [form];
  const always = everySigma(form);
  return [form, always, always.replace(/σ(?!\p{L})/gu, 'ς'), always.replaceAll('σ', 'Σ').toLowerCase()];
}

/** With σ for both small forms of the Greek letter. */
export function everySigma(text: string): string {
  return text.replaceAll('ς', 'σ');
}
