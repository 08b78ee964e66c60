import { closest, distance } from 'fastest-levenshtein';
import { cutText } from '../values';

/** Keys come from the client; a message needs no more of them. */
const MAX_KEY_LENGTH = 64;

/** How the API names a field: `to[1].email`, `0.subject` inside a top-level array, `body` for the whole. */
export function fieldPath(segments: readonly (string | number)[]): string {
  let path = '';
  for (const segment of segments) {
    if (path === '') path = cutText(String(segment), MAX_KEY_LENGTH);
    else if (typeof segment === 'number') path += `[${segment}]`;
    else path += `.${cutText(segment, MAX_KEY_LENGTH)}`;
  }
  return path === '' ? 'body' : path;
}

/** Similar names are searched for this many unknown fields of one object: ten thousand would block the event loop. */
const MAX_SUGGESTED = 20;
/** And so many are named: a response does not grow with what a client makes up. */
const MAX_NAMED = 50;

/** The unknown field names of an object, as many as a message needs, each with its message. */
export function unknownFields(value: object, known: ReadonlySet<string>): [name: string, message: string][] {
  const unknown = Object.keys(value).filter((name) => !known.has(name));
  const more = unknown.length - MAX_NAMED;
  const names = unknown.slice(0, MAX_NAMED);
  const named = names.map((name): [string, string] => [cutText(name, MAX_KEY_LENGTH), NOT_KNOWN]);
  for (const field of named.slice(0, MAX_SUGGESTED)) field[1] = unknownField(field[0], known);
  const last = named.at(-1);
  if (last && more > 0) last[1] = `${NOT_KNOWN}, nor are ${more} more`;
  return named;
}

const NOT_KNOWN = 'is not a known field';

/**
 * The message for an unknown field. A known one that differs by its spelling only (`reply_to` for `replyTo`), or by a letter or
 * two, is suggested.
 */
function unknownField(name: string, known: Iterable<string>): string {
  const nearest = nearestField(name, [...known]);
  return `${NOT_KNOWN}${nearest === undefined ? '' : `; did you mean ${nearest}?`}`;
}

function nearestField(name: string, known: readonly string[]): string | undefined {
  const plain = lettersOf(name);
  const sameLetters = known.find((field) => lettersOf(field) === plain);
  if (sameLetters !== undefined || known.length === 0) return sameLetters;
  const nearest = closest(name, known);
  return distance(name, nearest) <= Math.min(2, Math.floor(nearest.length / 3)) ? nearest : undefined;
}

function lettersOf(name: string): string {
  return name.replace(/[^a-z0-9]/gi, '').toLowerCase();
}
