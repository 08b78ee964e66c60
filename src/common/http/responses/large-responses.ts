import { inTurns } from '../../async/text-in-turns';
import type { ResponseMemory } from '../request/request-body';
import { ResponsePieces } from './error-response';
import { escapeHtml } from './html-page';

/** For `@Header` beside a `ResponsePieces`. */
export const JSON_TYPE = 'application/json; charset=utf-8';
/**
 * What leads out of a document, though its policy lets it load nothing: links of MathML elements, and animations, which could give a link
 * another address; and frames, to whose hosts Chromium opens a connection before the policy refuses it, so that they learn who reads the mail.
 */
const LEADS_OUT = /<(?=i?frame|math|animate|set)/gi;
const LINK = /<(a|area)(?=[\t\n\f\r /])/gi;
const LEADS_OUT_LENGTH = '<animate'.length;

/** A response that has been written: what it was made of is no longer needed. */
export function heldPieces(pieces: readonly Buffer[], memory: ResponseMemory): ResponsePieces {
  const written = new ResponsePieces(pieces);
  memory.set(written.byteLength);
  return written;
}

/**
 * The document of a mail's html: the same, with elements that nobody knows in place of its frames, and links that lead nowhere. Of two
 * attributes with one name the first counts, however the other is written. Without quotes, as a tag within an attribute's value would
 * otherwise end the value.
 * @param holder in whose turns
 */
export async function inertInTurns(html: string, holder?: string): Promise<Buffer> {
  const write = (piece: string): Buffer => Buffer.from(piece.replace(LEADS_OUT, '<x-').replace(LINK, '<$1 href=#-'));
  return Buffer.concat(await inTurns(html, write, holder, LEADS_OUT_LENGTH));
}

/** The same as html, without markup of its own. */
export async function escapedInTurns(text: string, holder?: string): Promise<Buffer> {
  return Buffer.concat(await inTurns(text, (piece) => Buffer.from(escapeHtml`${piece}`.toString()), holder));
}
