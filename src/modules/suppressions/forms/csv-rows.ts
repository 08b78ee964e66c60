/** A row of a CSV file. */
export interface CsvRow {
  /** Of its first line, from 1. */
  readonly line: number;
  /** Where the next row begins, in UTF-16 code units. */
  readonly end: number;
  /** Blanks around plain fields are gone. Undefined when the row cannot be split. */
  readonly fields: readonly string[] | undefined;
}

/** Quoted fields may hold line breaks; one that is never closed must not swallow the file. */
const MAX_ROW_LINES = 20;
const MAX_ROW_LENGTH = 64 * 1024;
const MAX_FIELDS = 200;

interface Row {
  readonly fields: readonly string[];
  /** After its line end. */
  readonly end: number;
}

/**
 * The rows of a CSV text (RFC 4180, lines of every system, a byte order mark skipped), one after the other: nothing is held but
 * the row at hand. All fields are text, whatever a spreadsheet would make of them. A row with a stray or open quote, and one
 * that is too long, is given without fields, and reading goes on at the next line. That is linear: a line that leaves a field
 * open has an odd number of quotes, and would have closed the field of an earlier one.
 */
export function* csvRows(text: string): Generator<CsvRow> {
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  for (let line = 1; at < text.length;) {
    const row = readRow(text, at);
    const lines = row ? linesIn(text, at, row.end) : 1;
    const isRow = row && lines <= MAX_ROW_LINES;
    const end = isRow ? row.end : afterLine(text, at);
    yield { line, end, fields: isRow ? row.fields : undefined };
    line += isRow ? lines : 1;
    at = end;
  }
}

function readRow(text: string, start: number): Row | undefined {
  const limit = start + MAX_ROW_LENGTH;
  const fields: string[] = [];
  for (let at = start; fields.length < MAX_FIELDS;) {
    const field = text[at] === '"' ? quotedField(text, at, limit) : plainField(text, at, limit);
    if (!field) return undefined;
    fields.push(field.value);
    const sign = text[field.end];
    if (sign === ',') at = field.end + 1;
    else if (sign === undefined || isLineEnd(sign)) return { fields, end: afterLineEnd(text, field.end) };
    else return undefined;
  }
  return undefined;
}

interface Field {
  readonly value: string;
  /** Of the sign after it. */
  readonly end: number;
}

function plainField(text: string, start: number, limit: number): Field | undefined {
  let end = start;
  while (end < text.length && text[end] !== ',' && !isLineEnd(text[end])) {
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
