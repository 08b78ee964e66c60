import { encodeExtended } from 'content-disposition';

/** Controls, lone surrogates, line and paragraph separators, and what reorders the text around it. */
const UNFIT_IN_A_LINE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;
/** The same, but for line feeds and tabs. */
const UNFIT_IN_A_BODY = /[^\P{Cc}\n\t]|[\p{Cs}\u202a-\u202e\u2066-\u2069]/gu;

const MAX_FILENAME_LENGTH = 150;
const NOT_IN_A_FILENAME = /[\\/:*?"<>|]/g;

/** Text of a message as one line of at most `maxLength` characters that a page, a log or a database can hold. */
export function displayLine(text: string, maxLength: number): string {
  return shortened(text, maxLength).replace(UNFIT_IN_A_LINE, ' ').trim();
}

/** Text of a message with its lines, at most `maxLength` characters. */
export function displayBody(text: string, maxLength: number): string {
  // Cut before line ends are looked for: of two characters one is left at least.
  const beginning = text.slice(0, 2 * maxLength + 2);
  return shortened(beginning.replace(/\r\n?/g, '\n'), maxLength).replace(UNFIT_IN_A_BODY, '\ufffd');
}

function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/**
 * `Content-Disposition: attachment` (RFC 6266) for any name that a message brings: its ASCII likeness, and itself as RFC
 * 8187 writes it. Both forms always, where the library's own `create` leaves out what it can do without.
 */
export function downloadAs(name: string): string {
  const filename = displayLine(name, MAX_FILENAME_LENGTH).replace(NOT_IN_A_FILENAME, '_') || 'attachment';
  return `attachment; filename="${filename.replace(/[^\x20-\x7e]|%/g, '_')}"; filename*=${encodeExtended(filename)}`;
}
