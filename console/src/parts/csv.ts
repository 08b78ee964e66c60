/** RFC 4180. A field that a spreadsheet would take for a formula begins with an apostrophe. */
export function toCsv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

function field(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) && !/^-?\d+(\.\d+)?$/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * The text of a file in UTF-8, or in UTF-16 with a byte order mark, as Excel writes “Unicode text”.
 * @throws Error that says what to do with a file that is neither
 */
export async function readText(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const mark = `${bytes[0]} ${bytes[1]}`;
  const encoding = mark === '255 254' ? 'utf-16le' : mark === '254 255' ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // Every second byte of UTF-16 without a mark.
    if (!text.slice(0, 2).includes('\0')) return text;
  } catch {
    // As below.
  }
  throw new Error('The file is not text in UTF-8. Save it as “CSV UTF-8”, or as “Unicode text”');
}

/** Hands a text to the browser as a file. */
export function download(name: string, text: string, type = 'text/csv'): void {
  downloadFile(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

export function downloadFile(name: string, file: Blob): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
