import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TextDecoder } from 'node:util';
import { type MessagePart, MIME_LIMITS } from './mime-message';
import { decodeQuotedPrintable, decodeTransfer } from './transfer-encoding';

const ENTITIES: Readonly<Record<string, string>> = {
  '&nbsp;': ' ',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

/** The bytes of a part without its transfer encoding (RFC 2045 section 6), one character a byte. */
export function decodedBody(part: MessagePart, maxLength: number = MIME_LIMITS.textLength): string {
  const body = Buffer.from(part.body.slice(0, maxLength), 'latin1');
  return decodeTransfer(body, part.fields.first('content-transfer-encoding')).toString('latin1');
}

/** The start of a part as text; of HTML, the text between the tags. */
export function textOf(part: MessagePart): string {
  const text = decodeCharset(decodedBody(part), part.contentType.parameters.get('charset'));
  return part.contentType.type === 'text/html' ? withoutTags(text) : text;
}

/** An encoded word (RFC 2047), with a language or not (RFC 2231 section 5), and words without anything between them. */
const WORD = /=\?([\w-]{1,40})(?:\*[\w-]{1,20})?\?([bq])\?([^?\s]{0,500})\?=/gi;
const WORDS = /(?:=\?[\w-]{1,40}(?:\*[\w-]{1,20})?\?[bq]\?[^?\s]{0,500}\?=){1,200}/gi;

/** Undoes encoded words (RFC 2047) in a field of text, such as Subject, and reads bytes above ASCII as UTF-8 where they are (RFC 6532). */
export function decodeField(value: string): string {
  return decodeEncodedWords(decodeCharset(value, undefined), (words) => words);
}

/** Undoes encoded words (RFC 2047) within a text. @param show what becomes of the text of words that stand together */
export function decodeEncodedWords(text: string, show: (words: string) => string): string {
  return text.replace(/\?=\s{1,10}=\?/g, '?==?').replace(WORDS, (words) => show(decodeWords(words)));
}

/** Decodes bytes in a named character set; without a known one as UTF-8 if valid, else as Windows-1252. */
export function decodeCharset(bytes: string, charset: string | undefined): string {
  const buffer = Buffer.from(bytes, 'latin1');
  return decoderOf(buffer, charset).decode(buffer);
}

/** Decoded in one turn of the event loop: a millisecond or two, in every character set. */
const PIECE_BYTES = 128 * 1024;

/** The same for any number of bytes, without NUL, which our JSON never contains. */
export async function decodeCharsetInTurns(bytes: Buffer, charset: string | undefined): Promise<string> {
  const decoder = decoderOf(bytes, charset);
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (at > 0) await nextTurn();
    text += decoder.decode(bytes.subarray(at, at + PIECE_BYTES), { stream: true }).replaceAll('\0', '');
  }
  return text + decoder.decode().replaceAll('\0', '');
}

function decoderOf(bytes: Buffer, charset: string | undefined): TextDecoder {
  return knownDecoder(charset) ?? new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252');
}

function knownDecoder(charset: string | undefined): TextDecoder | undefined {
  try {
    return charset === undefined ? undefined : new TextDecoder(charset);
  } catch {
    return undefined;
  }
}

/** Words of one character set together: RFC 2047 section 5 forbids to split a character, and many senders do. */
function decodeWords(words: string): string {
  let decoded = '';
  let bytes = '';
  let known: string | undefined;
  for (const [, charset = '', encoding, text = ''] of words.matchAll(WORD)) {
    if (known !== undefined && known !== charset.toLowerCase()) {
      decoded += decodeCharset(bytes, known);
      bytes = '';
    }
    known = charset.toLowerCase();
    bytes += bytesOfWord(encoding, text);
  }
  return decoded + decodeCharset(bytes, known);
}

function bytesOfWord(encoding: string | undefined, text: string): string {
  if (encoding?.toLowerCase() === 'b') return Buffer.from(text, 'base64').toString('latin1');
  return decodeQuotedPrintable(Buffer.from(text.replaceAll('_', ' '), 'latin1')).toString('latin1');
}

/** Blocks end lines, other tags vanish. A tag without an end within 2000 characters is text. */
function withoutTags(html: string): string {
  return html
    .replace(/<(?:br|\/p|\/div|\/tr|\/h[1-6]|\/li)[^<>]{0,200}>/gi, '\n')
    .replace(/<[^<>]{0,2000}>/g, ' ')
    .replace(/&(?:nbsp|lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? entity);
}
