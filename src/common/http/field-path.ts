import { closest, distance } from 'fastest-levenshtein';

/** Keys come from the client; a message needs no more of them. */
const MAX_KEY_LENGTH = 64;

/** How the API names a field: `to[1].email`, `0.subject` inside a top-level array, `body` for the whole. */
export function fieldPath(segments: readonly (string | number)[]): string {
  let path = '';
  for (const segment of segments) {
    if (path === '') path = String(segment).slice(0, MAX_KEY_LENGTH);
    else if (typeof segment === 'number') path += `[${segment}]`;
    else path += `.${segment.slice(0, MAX_KEY_LENGTH)}`;
  }
  return path === '' ? 'body' : path;
}

/**
 * The message for a field that is not known. One that differs by its spelling only (`reply_to` for `replyTo`), or by a
 * letter or two, is named.
 */
export function unknownField(name: string, known: Iterable<string>): string {
  const nearest = nearestField(name.slice(0, MAX_KEY_LENGTH), [...known]);
  return `is not a known field${nearest === undefined ? '' : `; did you mean ${nearest}?`}`;
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
