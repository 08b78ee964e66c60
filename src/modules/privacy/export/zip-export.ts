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
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  for (const section of SECTIONS) {
    zip.addReadStreamLazy(`${section}.${format}`, (give) => {
      // The library listens to none of its sources' errors, and leaves them open when nobody reads on.
      const file = Readable.from(renderSection(result, section, format)).on('error', fail);
      output.once('close', () => file.destroy());
      give(null, file);
    });
  }
  zip.end();
  return output;
}
