import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import { ZipFile } from 'yazl';
import type { ExportFormat, ExportSection } from '../requests/privacy-request.entity';
import { type ExportItems, type ExportResult, SECTIONS } from './export-items';

type Columns = { readonly [Section in ExportSection]: readonly (keyof ExportItems[Section][number])[] };

/** Column names are the fields' names. */
const COLUMNS: Columns = {
  emails: [
    ...(['id', 'fromEmail', 'toEmails', 'ccEmails', 'bccEmails'] as const),
    ...(['subject', 'createdAt', 'status', 'htmlBody', 'textBody'] as const),
    ...(['replyTo', 'tags', 'metadata', 'headers', 'attachments'] as const),
  ],
  events: ['id', 'emailId', 'eventType', 'timestamp', 'eventData'],
  suppressions: ['id', 'email', 'reason', 'suppressedAt'],
};

/** A section as an array of JSON, or as a file of CSV with a head line; one part at a time. */
export function renderSection(result: ExportResult, section: ExportSection, format: ExportFormat) {
  return format === 'json' ? jsonArray(result, section) : csvFile(result, section);
}

/**
 * `{"data": {…, "exportedData": {…}}}` as text: three arrays, or three strings that are CSV files.
 * @param fields the others of `data`
 */
export async function* renderResponse(
  fields: object,
  result: ExportResult,
  format: ExportFormat,
): AsyncGenerator<string> {
  yield `{"data":${JSON.stringify(fields).slice(0, -1)},"exportedData":{`;
  for (const [index, section] of SECTIONS.entries()) {
    yield `${index > 0 ? ',' : ''}"${section}":`;
    const text = renderSection(result, section, format);
    yield* format === 'json' ? text : jsonString(text);
  }
  yield '}}}';
}

async function* jsonArray(result: ExportResult, section: ExportSection): AsyncGenerator<string> {
  let before = '[';
  for await (const lines of result.read(section)) {
    yield before + lines.replaceAll('\n', ',');
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

async function* jsonString(texts: AsyncIterable<string>): AsyncGenerator<string> {
  yield '"';
  for await (const text of texts) yield JSON.stringify(text).slice(1, -1);
  yield '"';
}

async function* csvFile(result: ExportResult, section: ExportSection): AsyncGenerator<string> {
  yield csvLines([COLUMNS[section]]);
  for await (const lines of result.read(section)) {
    yield csvLines(lines.split('\n').map((line) => fieldsOf(section, line)));
  }
}

function fieldsOf(section: ExportSection, line: string): string[] {
  const item = JSON.parse(line) as Record<string, unknown>;
  return COLUMNS[section].map((column) => toText(item[column]));
}

/** Texts side by side; what has no value is empty; anything else that is no text is JSON. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  const isList = Array.isArray(value) && value.every((element) => typeof element === 'string');
  return isList ? value.join(', ') : JSON.stringify(value);
}

/** A spreadsheet takes what begins with these for a formula (OWASP, CSV injection). */
const FORMULA = /^[=+\-@\t\r\n]/;

/** Lines of RFC 4180 with their ends. A field that a spreadsheet would run is put behind an apostrophe. */
export function csvLines(rows: readonly (readonly string[])[]): string {
  const harmless = rows.map((fields) => fields.map((field) => (FORMULA.test(field) ? `'${field}` : field)));
  return stringify(harmless, { record_delimiter: '\r\n', quoted_match: /[\r\n]/ });
}

/** A ZIP file with a file for each section, made while it is read. */
export function zipExport(result: ExportResult, format: ExportFormat): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  for (const section of SECTIONS) {
    zip.addReadStreamLazy(`${section}.${format}`, (give) => {
      // The library listens to none of its sources' errors, and leaves them open when the client stops reading.
      const file = Readable.from(renderSection(result, section, format)).on('error', fail);
      output.once('close', () => file.destroy());
      give(null, file);
    });
  }
  zip.end();
  return output;
}
