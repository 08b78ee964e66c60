/** Controls, lone surrogates, line and paragraph separators, and what reorders the text around it. */
const UNFIT_IN_A_LINE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;
/** The same, but for line feeds and tabs. */
const UNFIT_IN_A_BODY = /[^\P{Cc}\n\t]|[\p{Cs}\u202a-\u202e\u2066-\u2069]/gu;

/** A stranger's text as one line of at most `maxLength` characters that a page, a log or a database can hold. */
export function displayLine(text: string, maxLength: number): string {
  return shortened(text, maxLength).replace(UNFIT_IN_A_LINE, ' ').trim();
}

/** A stranger's text with its lines, at most `maxLength` characters. */
export function displayBody(text: string, maxLength: number): string {
  return shortened(text.replace(/\r\n?/g, '\n'), maxLength).replace(UNFIT_IN_A_BODY, '\ufffd');
}

function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}
