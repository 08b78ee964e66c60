/**
 * The address as a URL (WHATWG); undefined when it is none.
 *
 * Not by `URL.canParse`: once the compiler of Node 20 has optimized a call to it, it refuses addresses like
 * `https://bücher.example` (letters of Latin-1).
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
