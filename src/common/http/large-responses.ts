import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { endOfPiece } from '../async/fair-turns';
import { escapeHtml } from './html-page';

/** For `@Header` beside `jsonInTurns`. */
export const JSON_TYPE = 'application/json; charset=utf-8';
/** Characters that are written in one turn of the event loop: some milliseconds, whatever they are. */
const PIECE = 64 * 1024;
const QUOTE = Buffer.from('"');

/**
 * The JSON of a value that holds long texts, which senders from outside may have written. In one piece, 5 MiB of control characters hold up the
 * event loop for a tenth of a second, as they become 30.
 */
export async function jsonInTurns(value: unknown): Promise<Buffer> {
  const texts: string[] = [];
  // Unknown to all senders, so that no text holds it.
  const mark = randomUUID();
  const frame = JSON.stringify(value, (_name, inner: unknown) => {
    if (typeof inner !== 'string' || inner.length <= PIECE) return inner;
    texts.push(inner);
    return mark;
  });
  const [beginning = '', ...rests] = frame.split(`"${mark}"`);
  const written = [Buffer.from(beginning)];
  for (const [index, rest] of rests.entries()) {
    const text = await inTurns(texts[index] ?? '', (piece) => Buffer.from(JSON.stringify(piece).slice(1, -1)));
    written.push(QUOTE, ...text, QUOTE, Buffer.from(rest));
  }
  return Buffer.concat(written);
}

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

/** @param whole the next piece begins with a `<` that has fewer characters behind it in this one */
async function inTurns<Written>(text: string, write: (piece: string) => Written, whole = 0): Promise<Written[]> {
  const written: Written[] = [];
  for (let at = 0, end: number; at < text.length; at = end) {
    if (at > 0) await nextTurn();
    end = endOfPiece(text, at, PIECE);
    const tag = whole > 0 && end < text.length ? text.lastIndexOf('<', end - 1) : -1;
    if (end - tag < whole && tag > at) end = tag;
    written.push(write(text.slice(at, end)));
  }
  return written;
}
