import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { ExportFormat } from '../privacy-request.entity';
import { SECTIONS } from './export-items';
import type { ExportResult } from './export-reading.service';
import { renderSection } from './render-export';

/** A ZIP file with a file for each section, made while it is read. */
export function zipExport(result: ExportResult, format: ExportFormat): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  zip.on('error', (error: Error) => output.destroy(error));
  for (const section of SECTIONS) {
    zip.addReadStreamLazy(`${section}.${format}`, (give) => {
      give(null, Readable.from(renderSection(result, section, format)));
    });
  }
  zip.end();
  return output;
}
