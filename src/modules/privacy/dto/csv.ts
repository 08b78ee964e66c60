import { setImmediate as nextTurn } from 'node:timers/promises';
import { stringify } from 'csv-stringify/sync';
import { endOfPiece } from '../../../common/async/fair-turns';

/** Spreadsheets read fields with these first characters as formulas (OWASP, CSV injection). */
const FORMULA = /^[=+\-@\t\r\n]/;
const LINE_END = '\r\n';

/** CSV lines (RFC 4180) with line ends. A field that a spreadsheet would execute is prefixed with an apostrophe. */
export function csvLines(rows: readonly (readonly string[])[]): string {
  const harmless = rows.map((fields) => fields.map((field) => (FORMULA.test(field) ? `'${field}` : field)));
  return stringify(harmless, { record_delimiter: LINE_END, quoted_match: /[\r\n]/ });
}

/** Characters of a field that are written in one turn of the event loop; the library would take a second for 5 MiB of quotes. */
const PIECE = 64 * 1024;

/** The same as `csvLines`, in pieces where a field is long. */
export async function* csvPart(rows: readonly (readonly string[])[]): AsyncGenerator<string> {
  let short: (readonly string[])[] = [];
  for (const row of rows) {
    if (row.every((field) => field.length <= PIECE)) {
      short.push(row);
      continue;
    }
    if (short.length > 0) yield csvLines(short);
    short = [];
    yield* longLine(row);
  }
  if (short.length > 0) yield csvLines(short);
}

async function* longLine(fields: readonly string[]): AsyncGenerator<string> {
  for (const [index, field] of fields.entries()) {
    if (index > 0) yield ',';
    if (field.length <= PIECE) yield csvLines([[field]]).slice(0, -LINE_END.length);
    else yield* longField(field);
  }
  yield LINE_END;
}

async function* longField(field: string): AsyncGenerator<string> {
  yield FORMULA.test(field) ? `"'` : '"';
  for (let at = 0, end: number; at < field.length; at = end) {
    end = endOfPiece(field, at, PIECE);
    yield field.slice(at, end).replaceAll('"', '""');
    await nextTurn();
  }
  yield '"';
}
