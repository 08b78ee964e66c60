import { inTurns } from '../async/text-in-turns';
import { escapeHtml } from './html-page';

/** For `@Header` beside `jsonInTurns`. */
export const JSON_TYPE = 'application/json; charset=utf-8';
/** Chromium opens a connection to the host of a frame before the document's policy refuses it, and so tells that host who reads the mail. */
const FRAME = /<(?=i?frame)/gi;
/** A tag that begins so far before the end of a piece, or nearer, may be cut off in the middle of that name. */
const FRAME_LENGTH = '<iframe'.length;

/** The document of a mail's html: the same, with elements that nobody knows in place of its frames. */
export async function framelessInTurns(html: string): Promise<Buffer> {
  const write = (piece: string): Buffer => Buffer.from(piece.replace(FRAME, '<x-'));
  return Buffer.concat(await inTurns(html, write, FRAME_LENGTH));
}

/** The same as html, without markup of its own. */
export async function escapedInTurns(text: string): Promise<Buffer> {
  return Buffer.concat(await inTurns(text, (piece) => Buffer.from(escapeHtml`${piece}`.toString())));
}
