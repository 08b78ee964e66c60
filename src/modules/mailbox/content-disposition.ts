import { displayLine } from './reading/display-text';

const MAX_FILENAME_LENGTH = 150;
const NOT_IN_A_FILENAME = /[\\/:*?"<>|]/g;

/** `Content-Disposition: attachment` (RFC 6266) for any name: its ASCII likeness, and itself as RFC 8187 writes it. */
export function downloadAs(name: string): string {
  const filename = displayLine(name, MAX_FILENAME_LENGTH).replace(NOT_IN_A_FILENAME, '_') || 'attachment';
  const ascii = filename.replace(/[^\x20-\x7e]|%/g, '_');
  const extended = encodeURIComponent(filename).replace(
    /['()]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${extended}`;
}
