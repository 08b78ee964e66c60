import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import type { ExportResult, FoundExport } from '../export/export-reading.service';
import { renderAnswer, renderSection } from '../export/render-export';
import type { ResultForm } from '../export/result-form';
import { zipExport } from '../export/zip-export';
import type { PrivacyExportDto, ReadExportQuery } from './privacy.dto';

/** A client that reads JSON has to hold all of it. */
const MAX_SHOWN_BYTES = 64 * 1024 * 1024;

interface Wanted extends Pick<ReadExportQuery, 'section'> {
  readonly form: ResultForm;
  readonly fields: PrivacyExportDto;
}

/** Whether the result is part of the JSON answer. */
export function isShown({ size }: FoundExport): boolean {
  return size !== undefined && size.bytes <= MAX_SHOWN_BYTES;
}

/** The result in the form that was asked for, made while it is sent. */
export function toFile(result: ExportResult, { form, section, fields }: Wanted): StreamableFile {
  const { requestId, format } = fields;
  const named = (name: string) => `attachment; filename="${requestId}${name}"`;
  switch (form) {
    case 'json':
      return new StreamableFile(Readable.from(renderAnswer(fields, result, format)), {
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
