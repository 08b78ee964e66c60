/** A row of a CSV file. */
export interface CsvRow {
  /** Number of its first line, from 1. */
  readonly line: number;
  /** Start of the next row, in UTF-16 code units. */
  readonly end: number;
  /** Plain fields are trimmed. Undefined when the row cannot be split. */
  readonly fields: readonly string[] | undefined;
}

/** Quoted fields may contain line breaks; an unclosed quote must not consume the whole file. */
const MAX_ROW_LINES = 20;
const MAX_ROW_LENGTH = 64 * 1024;
const MAX_FIELDS = 200;

type Separator = ',' | ';' | '\t';

interface Row {
  readonly fields: readonly string[];
  /** Position after its line end. */
  readonly end: number;
}

/**
 * Yields the rows of a CSV text (RFC 4180, any line ends, a byte order mark is skipped) and holds only the current row. Fields may
 * be separated by commas, or as spreadsheets do it by semicolons or tabs, and are text. A row with a stray or unclosed quote, or one
 * that is too long, has no fields, and reading continues at the next line. The time stays linear: a line that leaves a field open
 * has an odd number of quotes and would have closed the field of an earlier one.
 */
export function* csvRows(text: string): Generator<CsvRow> {
  const separator = separatorOf(text);
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  for (let line = 1; at < text.length;) {
    const row = readRow(text, at, separator);
    const lines = row ? linesIn(text, at, row.end) : 1;
    const isRow = row && lines <= MAX_ROW_LINES;
    const end = isRow ? row.end : afterLine(text, at);
    yield { line, end, fields: isRow ? row.fields : undefined };
    line += isRow ? lines : 1;
    at = end;
  }
}

/** The first one outside of quotes: what comes before it, mostly an address, has none. */
function separatorOf(text: string): Separator {
  let isQuoted = false;
  for (const sign of text.slice(0, MAX_ROW_LENGTH)) {
    if (sign === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (sign === ',' || sign === ';' || sign === '\t')) return sign;
  }
  return ',';
}

function readRow(text: string, start: number, separator: Separator): Row | undefined {
  const limit = start + MAX_ROW_LENGTH;
  const fields: string[] = [];
  for (let at = start; fields.length < MAX_FIELDS;) {
    const field = text[at] === '"' ? quotedField(text, at, limit) : plainField(text, at, separator, limit);
    if (!field) return undefined;
    fields.push(field.value);
    const sign = text[field.end];
    if (sign === separator) at = field.end + 1;
    else if (sign === undefined || isLineEnd(sign)) return { fields, end: afterLineEnd(text, field.end) };
    else return undefined;
  }
  return undefined;
}

interface Field {
  readonly value: string;
  /** Position after its delimiter. */
  readonly end: number;
}

function plainField(text: string, start: number, separator: Separator, limit: number): Field | undefined {
  let end = start;
  while (end < text.length && text[end] !== separator && !isLineEnd(text[end])) {
    if (text[end] === '"' || end >= limit) return undefined;
    end += 1;
  }
  return { value: text.slice(start, end).trim(), end };
}

function quotedField(text: string, start: number, limit: number): Field | undefined {
  for (let from = start + 1; ;) {
    const quote = text.slice(from, limit).indexOf('"');
    if (quote < 0) return undefined;
    const end = from + quote + 1;
    if (text[end] !== '"') return { value: text.slice(start + 1, end - 1).replaceAll('""', '"'), end };
    from = end + 1;
  }
}

const LINE_END = /\r\n|\n|\r/g;

function afterLine(text: string, from: number): number {
  LINE_END.lastIndex = from;
  return LINE_END.test(text) ? LINE_END.lastIndex : text.length;
}

function isLineEnd(sign: string | undefined): boolean {
  return sign === '\n' || sign === '\r';
}

function afterLineEnd(text: string, at: number): number {
  if (at >= text.length) return at;
  return text[at] === '\r' && text[at + 1] === '\n' ? at + 2 : at + 1;
}

function linesIn(text: string, start: number, end: number): number {
  return Math.max(1, text.slice(start, end).match(LINE_END)?.length ?? 1);
}

/** Removes the apostrophe that exports put before values that a spreadsheet would take for a formula. */
export function unguarded(value: string): string {
  return /^'[=+\-@]/.test(value) ? value.slice(1) : value;
}
