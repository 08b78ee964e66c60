/** True for an object of JSON: no list, and not null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The beginning of a text, which does not end with half of a surrogate pair: Postgres refuses JSON with one. */
export function cutText(text: string, maxLength: number): string {
  const beginning = text.slice(0, maxLength);
  return text.length > maxLength ? beginning.replace(/[\ud800-\udbff]$/, '') : beginning;
}

/**
 * How many characters the texts and names of a JSON value have together, plus one for each value. Counts no further than to
 * `limit`, so that it distinguishes a small value from a large one at the price of a small one.
 */
export function sizeOfValue(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return 1;
  return Array.isArray(value) ? sizeOfElements(value, limit) : sizeOfMembers(value as Record<string, unknown>, limit);
}

function sizeOfElements(elements: readonly unknown[], limit: number): number {
  let size = 1;
  for (let index = 0; index < elements.length && size < limit; index += 1) {
    size += sizeOfValue(elements[index], limit - size);
  }
  return size;
}

function sizeOfMembers(members: Record<string, unknown>, limit: number): number {
  let size = 1;
  for (const name in members) {
    if (size >= limit) break;
    size += name.length + sizeOfValue(members[name], limit - size);
  }
  return size;
}

/** Whether a JSON value is written in more bytes than so many. Of a large one, no text is made to find out. */
export function isLongerThan(value: unknown, bytes: number): boolean {
  // A value takes a character of JSON at least, and each but one a sign beside it.
  return sizeOfValue(value, 2 * bytes + 1) > 2 * bytes || Buffer.byteLength(JSON.stringify(value)) > bytes;
}
