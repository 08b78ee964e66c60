/** What to do with a file that is neither. */
export const SAVE_AS_UTF8 = 'Save it as "CSV UTF-8", or as "Unicode text"';

/** The text of a file in UTF-8, or in UTF-16 with a byte order mark, as Excel writes "Unicode text"; undefined where it is neither. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
    // Every second byte of UTF-16 without a mark.
    return text.slice(0, 2).includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}
