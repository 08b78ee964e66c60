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

interface Level {
  /** Undefined inside an object before its first key. */
  key: string | number | undefined;
  readonly isArray: boolean;
}

/**
 * Names the field that an offset of a JSON text lies in, for error messages only: walks the text from the start. The text
 * may be broken, before or after the offset; the result is then the best guess.
 */
export function pathAt(bytes: Buffer, offset: number): string {
  const levels: Level[] = [];
  let at = 0;
  while (at < offset) {
    const character = String.fromCharCode(bytes[at] as number);
    if (character === '"') {
      const end = endOfString(bytes, at);
      if (end > offset) break;
      noteKey(levels.at(-1), bytes, at, end);
      at = end;
      continue;
    }
    step(levels, character);
    at += 1;
  }
  return fieldPath(levels.flatMap((level) => (level.key === undefined ? [] : [level.key])));
}

function step(levels: Level[], character: string): void {
  const top = levels.at(-1);
  if (character === '{') levels.push({ key: undefined, isArray: false });
  else if (character === '[') levels.push({ key: 0, isArray: true });
  else if (character === '}' || character === ']') levels.pop();
  else if (character === ',' && top) top.key = top.isArray ? Number(top.key) + 1 : undefined;
}

/** A string in an object is a key while none has been seen since the last comma. */
function noteKey(top: Level | undefined, bytes: Buffer, start: number, end: number): void {
  if (!top || top.isArray || top.key !== undefined) return;
  const text = bytes.toString('utf8', start, end);
  try {
    top.key = String(JSON.parse(text));
  } catch {
    top.key = text.slice(1, -1);
  }
}

/** @returns the index after the closing quote. */
function endOfString(bytes: Buffer, open: number): number {
  for (let at = open + 1; at < bytes.length; at += 1) {
    if (bytes[at] === 0x5c) at += 1;
    else if (bytes[at] === 0x22) return at + 1;
  }
  return bytes.length;
}
