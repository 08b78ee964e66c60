import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import Negotiator from 'negotiator';
import { ZipFile } from 'yazl';
import { type ExportItems, type ExportResult, SECTIONS } from '../export/export-items';
import type { FoundExport } from '../export/exports.service';
import type { ExportFormat, ExportSection } from '../requests/privacy-request.entity';
import { csvLines, csvPart } from './csv';
import type { PrivacyExportDto, ReadExportQuery } from './privacy.dto';

/** The requested form of a result: within the JSON response, as one CSV file, or as a ZIP file. */
export type ResultForm = 'json' | 'csv' | 'zip';

const FORMS: ReadonlyMap<string, ResultForm> = new Map([
  ['application/json', 'json'],
  ['text/csv', 'csv'],
  ['application/zip', 'zip'],
]);

/** Larger results are not part of the JSON response, which clients hold in memory as a whole. */
const MAX_SHOWN_BYTES = 64 * 1024 * 1024;

interface Wanted extends Pick<ReadExportQuery, 'section'> {
  readonly form: ResultForm;
  readonly fields: PrivacyExportDto;
  /** The date of files in a ZIP file. */
  readonly now: Date;
}

/** Whether the result is part of the JSON response. */
export function isShown({ size }: FoundExport): boolean {
  return size !== undefined && size.bytes <= MAX_SHOWN_BYTES;
}

/** Negotiates by the `Accept` header (RFC 9110 section 12.5.1): the known type of the highest quality, the first of equals; else JSON. */
export function resultForm(accept: string | undefined): ResultForm {
  const types = new Negotiator({ headers: { accept } }).mediaTypes();
  return types.flatMap((type) => FORMS.get(type.toLowerCase()) ?? [])[0] ?? 'json';
}

/** The result in the requested form, generated while it is sent. */
export function toFile(result: ExportResult, { form, section, fields, now }: Wanted): StreamableFile {
  const { requestId, format } = fields;
  const named = (name: string) => `attachment; filename="${requestId}${name}"`;
  switch (form) {
    case 'json':
      return new StreamableFile(Readable.from(renderResponse(fields, result, format)), {
        type: 'application/json; charset=utf-8',
      });
    case 'csv':
      return new StreamableFile(Readable.from(renderSection(result, section, 'csv')), {
        type: 'text/csv; charset=utf-8; header=present',
        disposition: named(`-${section}.csv`),
      });
    case 'zip':
      return new StreamableFile(zipExport(result, format, now), {
        type: 'application/zip',
        disposition: named('.zip'),
      });
  }
}

type Columns = { readonly [Section in ExportSection]: readonly (keyof ExportItems[Section][number])[] };

/** Column names are the fields' names. */
const COLUMNS: Columns = {
  emails: [
    ...(['id', 'fromEmail', 'toEmails', 'ccEmails', 'bccEmails'] as const),
    ...(['subject', 'createdAt', 'status', 'htmlBody', 'textBody'] as const),
    ...(['replyTo', 'tags', 'metadata', 'headers', 'attachments'] as const),
  ],
  events: ['id', 'emailId', 'eventType', 'timestamp', 'eventData'],
  suppressions: ['id', 'email', 'reason', 'suppressedAt', 'notes'],
};

/** A section as a JSON array, or as CSV with a header line; one part at a time. */
function renderSection(result: ExportResult, section: ExportSection, format: ExportFormat) {
  return format === 'json' ? jsonArray(result, section) : csvFile(result, section);
}

/**
 * `{"data": {…, "exportedData": {…}}}` as text: three arrays, or three strings that are CSV files.
 * @param fields the other fields of `data`
 */
async function* renderResponse(fields: object, result: ExportResult, format: ExportFormat): AsyncGenerator<string> {
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
    yield* csvPart(lines.split('\n').map((line) => fieldsOf(section, line)));
  }
}

function fieldsOf(section: ExportSection, line: string): string[] {
  const item = JSON.parse(line) as Record<string, unknown>;
  return COLUMNS[section].map((column) => toText(item[column]));
}

/** A CSV value: texts of a list are joined if that is unambiguous, a missing value is empty, any other non-text is JSON. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  const isList =
    Array.isArray(value) && value.every((element) => typeof element === 'string' && !/^\["|,/.test(element));
  return isList ? value.join(', ') : JSON.stringify(value);
}

/** A ZIP file with one file for each section, generated while it is read. */
export function zipExport(result: ExportResult, format: ExportFormat, mtime: Date): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  for (const section of SECTIONS) {
    zip.addReadStreamLazy(`${section}.${format}`, { mtime }, (give) => {
      // The library does not handle errors of its sources, and leaves them open when the client stops reading.
      const file = Readable.from(renderSection(result, section, format)).on('error', fail);
      output.once('close', () => file.destroy());
      give(null, file);
    });
  }
  zip.end();
  return output;
}
