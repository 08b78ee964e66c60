import { occurrencesIn, type Origin, type Sought } from './decodings';
import { type Occurrence, runsOf, utf8Texts, withReplaced } from './encoded-runs';

/** Of an address: what it may consist of, as JSON and HTML escape it, or as it is. */
const CHARACTER = String.raw`(?:\\{1,4}u[0-9a-f]{4}|&#x?[0-9a-f]{1,6};|[^\s@<>"'${'`'},;:()[\]{}=&/\\])`;
/** Also as it stands in a query, in JSON and in HTML. */
const AT = String.raw`(?:@|%(?:25){0,2}40|\\{1,4}u0040|&#(?:64|x40);|&commat;)`;
/** Found by its @, and bounded, so that no text makes the search slow. An address cut by the end of the text counts too. */
const ADDRESS = new RegExp(`${AT}(?<=(${CHARACTER}{1,64})${AT})(?:${CHARACTER}{1,255}|$)`, 'gi');
const REPLACEMENT = '[address]';

/** Quoted-printable (RFC 2045): signs, or all of it. With a dot, as queries have `=40` too. */
const QUOTED =
  /=40(?<=((?:=[0-9A-Fa-f]{2}|[\w.+-]){1,200})=40)(?:[\w-]|=[0-9A-Fa-f]{2}){1,200}(?:\.|=2[Ee])(?:[\w.-]|=[0-9A-Fa-f]{2}){2,200}/g;

/** Controls other than white space, and what is not UTF-8. */
const NO_TEXT = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]/;
/** Longer than what random bytes decode to without such characters. */
const STRETCHES = /[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]{24,}/g;
/** With a whole domain: for what may be no address. */
const SURE =
  /(?:@|\\u0040)(?<=([\p{L}\p{N}._%+-]{1,64})(?:@|\\u0040))(?:[\p{L}\p{N}-]{1,63}\.){1,8}[\p{L}\p{N}-]{2,63}/gu;
/** One that the end cuts, among bytes. */
const CUT = /@(?<=([\p{L}\p{N}._%+-]{2,64})@)[\p{L}\p{N}.-]{0,63}$/gu;

/** `a@b.co`, in whatever character set has ASCII as UTF-8 has it. */
const MIN_BYTES = 6;
const ANY: Sought = { minBytes: 0, ...runsOf(MIN_BYTES, utf8Texts), spelled };

/** Texts of others without addresses: for places that erasures do not search. */
export function withoutAddresses(text: string): string {
  return withReplaced(text, placesOf(text, ADDRESS), REPLACEMENT);
}

/** The same for texts of programs, where addresses may be encoded, up to `MAX_ENCODINGS` times. @param text of some kB at most */
export function withoutEncodedAddresses(text: string): string {
  return withReplaced(
    text,
    [...occurrencesIn(text, ANY)].filter((step) => step !== undefined),
    REPLACEMENT,
  );
}

/** A JSON value without addresses in its texts, however they are encoded. */
export function valueWithoutAddresses<T>(value: T): T {
  return cleaned(value) as T;
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return withoutEncodedAddresses(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, cleaned(member)]));
}

function spelled(text: string, origin: Origin): Occurrence[] {
  if (origin === 'guess') return placesOf(text, SURE);
  if (origin === 'text' || !NO_TEXT.test(text)) return [...placesOf(text, ADDRESS), ...placesOf(text, QUOTED)];
  const stretches = [...text.matchAll(STRETCHES)].flatMap(({ index, 0: stretch }) =>
    spelled(stretch, 'text').map(({ start, end }) => ({ start: start + index, end: end + index })),
  );
  return [...placesOf(text, SURE), ...placesOf(text, CUT), ...stretches];
}

/** @param pattern from the @ on; its first group is what stands before it */
function placesOf(text: string, pattern: RegExp): Occurrence[] {
  const places: Occurrence[] = [];
  let done = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const { index, 0: rest, 1: before = '' } = match;
    const start = Math.max(done, index - before.length);
    // What stands before it belongs to the one before.
    if (start === index) pattern.lastIndex = index + 1;
    else {
      done = index + rest.length;
      places.push({ start, end: done });
    }
  }
  return places;
}
