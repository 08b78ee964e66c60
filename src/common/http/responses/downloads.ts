import { type PipeTransform } from '@nestjs/common';
import { encodeExtended } from 'content-disposition';
import { NotFoundError } from '../../errors/app-error';

/** Controls, lone surrogates, line and paragraph separators, and bidirectional controls. */
const UNFIT_IN_A_LINE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;
const MAX_FILENAME_LENGTH = 150;
const NOT_IN_A_FILENAME = /[\\/:*?"<>|]/g;

/** Text of a message as one line of at most `maxLength` characters, safe for pages, headers, logs and the database. */
export function displayLine(text: string, maxLength: number): string {
  return shortened(text, maxLength).replace(UNFIT_IN_A_LINE, ' ').trim();
}

/** The beginning of a text, with an ellipsis where it goes on; at most `maxLength` characters. */
export function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/**
 * `Content-Disposition: attachment` (RFC 6266) for any name in a message: an ASCII fallback, and the name itself as RFC
 * 8187 encodes it. Always both forms, where the library's own `create` omits one when it can.
 */
export function downloadAs(name: string): string {
  const filename = displayLine(name, MAX_FILENAME_LENGTH).replace(NOT_IN_A_FILENAME, '_') || 'attachment';
  return `attachment; filename="${filename.replace(/[^\x20-\x7e]|%/g, '_')}"; filename*=${encodeExtended(filename)}`;
}

/** The index of an attachment in a path, from 0. @throws NotFoundError for any other text, as for one that the message does not have */
export class AttachmentIndexPipe implements PipeTransform<string, number> {
  transform(value: string): number {
    if (!/^(0|[1-9]\d{0,3})$/.test(value)) throw new NotFoundError('Attachment');
    return Number(value);
  }
}
