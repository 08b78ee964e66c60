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
