import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import Negotiator from 'negotiator';
import type { ExportResult } from '../export/export-items';
import type { FoundExport } from '../export/exports.service';
import { renderResponse, renderSection, zipExport } from '../export/render-export';
import type { PrivacyExportDto, ReadExportQuery } from './privacy.dto';

/** In which form a result is wanted: within the JSON response, as one CSV file, or as a ZIP file. */
export type ResultForm = 'json' | 'csv' | 'zip';

const FORMS: ReadonlyMap<string, ResultForm> = new Map([
  ['application/json', 'json'],
  ['text/csv', 'csv'],
  ['application/zip', 'zip'],
]);

/** A client that reads JSON has to hold all of it. */
const MAX_SHOWN_BYTES = 64 * 1024 * 1024;

interface Wanted extends Pick<ReadExportQuery, 'section'> {
  readonly form: ResultForm;
  readonly fields: PrivacyExportDto;
}

/** Whether the result is part of the JSON response. */
export function isShown({ size }: FoundExport): boolean {
  return size !== undefined && size.bytes <= MAX_SHOWN_BYTES;
}

/** By the `Accept` header (RFC 9110 section 12.5.1): the known type that is wanted most, the first of equals; else JSON. */
export function resultForm(accept: string | undefined): ResultForm {
  const types = new Negotiator({ headers: { accept } }).mediaTypes();
  return types.flatMap((type) => FORMS.get(type.toLowerCase()) ?? [])[0] ?? 'json';
}

/** The result in the requested form, made while it is sent. */
export function toFile(result: ExportResult, { form, section, fields }: Wanted): StreamableFile {
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
      return new StreamableFile(zipExport(result, format), { type: 'application/zip', disposition: named('.zip') });
  }
}
