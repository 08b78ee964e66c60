import { setImmediate as nextTurn } from 'node:timers/promises';
import { cutText } from '../values';
import { parametersOf } from './mime-message';
import { decodeCharset, decodeCharsetInTurns, decodeField } from './part-text';
import { findParts, type PlacedPart, type PlacedParts } from './message-parts';
import { decodeTransferInTurns } from './transfer-encoding';

/** Encoded bytes of text, and of html, that are read; what is longer is cut. */
const MAX_TEXT_BYTES = 5 * 1024 * 1024;
/** Decoding as much takes a millisecond. */
const LARGE_BYTES = 64 * 1024;
const MAX_FILENAME = 255;
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** A part that is not shown as text; its bytes are read by `readFile`. */
export interface MessageFile {
  readonly index: number;
  /** Without folders; never empty. */
  readonly filename: string;
  /** As given by the sender: for display, not trustworthy. */
  readonly contentType: string;
  /** Decoded bytes. */
  readonly size: number;
  /** Without angle brackets. */
  readonly contentId: string | undefined;
}

/** A message as a reader shows it. */
export interface ReadMessage extends PlacedParts {
  readonly text: string | undefined;
  readonly html: string | undefined;
  readonly files: readonly MessageFile[];
}

/** Takes a message apart. Never throws, whatever its bytes are. */
export async function readMessage(message: Buffer): Promise<ReadMessage> {
  const { fields, parts } = await findParts(message);
  const { shown, attached } = sort(parts);
  const files: MessageFile[] = [];
  for await (const { bytes: _dropped, ...file } of decodedFiles(message, attached)) files.push(file);
  return { fields, parts, ...(await textsOf(message, shown)), files };
}

/** The texts of a message, and its first `most` files with their decoded bytes. Never throws, whatever its bytes are. */
export async function readMessageAndFiles(message: Buffer, most: number) {
  const { shown, attached } = sort((await findParts(message)).parts);
  const files: DecodedFile[] = [];
  for await (const file of decodedFiles(message, attached.slice(0, most))) files.push(file);
  return { ...(await textsOf(message, shown)), files };
}

interface DecodedFile extends MessageFile {
  readonly bytes: Buffer;
}

async function* decodedFiles(message: Buffer, parts: readonly PlacedPart[]): AsyncGenerator<DecodedFile> {
  for (const [index, part] of parts.entries()) {
    if (part.end - part.start > LARGE_BYTES) await nextTurn();
    const bytes = await bytesOf(message, part);
    yield { ...toFile(part, index, bytes.length), bytes };
  }
}

async function textsOf(message: Buffer, { plain, html }: Record<'plain' | 'html', readonly PlacedPart[]>) {
  return { text: await textOf(message, plain), html: await textOf(message, html) };
}

/** The decoded bytes of a file; undefined when there is none of that index. */
export async function readFile(message: Buffer, index: number): Promise<DecodedFile | undefined> {
  const part = sort((await findParts(message)).parts).attached[index];
  if (!part) return undefined;
  const bytes = await bytesOf(message, part);
  return { ...toFile(part, index, bytes.length), bytes };
}

function sort(parts: readonly PlacedPart[]) {
  const isShown = (type: string) => (part: PlacedPart) => part.contentType.type === type && !isFile(part);
  const plain = parts.filter(isShown('text/plain'));
  const html = parts.filter(isShown('text/html'));
  const isElse = (part: PlacedPart) => !plain.includes(part) && !html.includes(part);
  return { shown: { plain, html }, attached: parts.filter(isElse) };
}

function isFile(part: PlacedPart): boolean {
  const disposition = part.fields.first('content-disposition') ?? '';
  return /^\s{0,10}attachment\b/i.test(disposition) || filenameOf(part) !== undefined;
}

/** Several texts, such as a list's footer, one below the other. */
async function textOf(message: Buffer, parts: readonly PlacedPart[]): Promise<string | undefined> {
  if (parts.length === 0) return undefined;
  let left = MAX_TEXT_BYTES;
  const texts: string[] = [];
  for (const part of parts) {
    const cut = { ...part, end: Math.min(part.end, part.start + left) };
    left -= cut.end - cut.start;
    const decoded = await bytesOf(message, cut);
    texts.push(await decodeCharsetInTurns(decoded, part.contentType.parameters.get('charset')));
    if (decoded.length > LARGE_BYTES) await nextTurn();
  }
  return texts.join('\n');
}

function bytesOf(message: Buffer, { start, end, fields }: PlacedPart): Promise<Buffer> {
  return decodeTransferInTurns(message.subarray(start, end), fields.first('content-transfer-encoding'));
}

/** @param size decoded bytes */
function toFile(part: PlacedPart, index: number, size: number): MessageFile {
  const contentId = part.fields.first('content-id')?.trim().replace(/^<|>$/g, '');
  return {
    index,
    filename: filenameOf(part) ?? `attachment-${index + 1}`,
    contentType: part.contentType.type,
    size,
    contentId: contentId === undefined ? undefined : clean(contentId),
  };
}

/** `filename` of the disposition, else `name` of the type, each also in the form of RFC 2231. */
function filenameOf({ fields, contentType }: PlacedPart): string | undefined {
  const disposition = fields.first('content-disposition') ?? '';
  const given = parameter(parametersOf(disposition), 'filename') ?? parameter(contentType.parameters, 'name');
  const name = clean((given ?? '').split(/[\\/]/).at(-1) ?? '').trim();
  return name === '' || /^\.{1,4096}$/.test(name) ? undefined : cutText(name, MAX_FILENAME);
}

/** Of a long value in the form of RFC 2231. */
const MAX_PIECES = 20;

function parameter(parameters: ReadonlyMap<string, string>, name: string): string | undefined {
  const extended = parameters.get(`${name}*`);
  if (extended !== undefined) return decodeExtended(extended);
  const plain = parameters.get(name);
  if (plain !== undefined) return decodeField(plain);
  const pieces: { readonly text: string; readonly isEncoded: boolean }[] = [];
  let isExtended = false;
  for (let index = 0; index < MAX_PIECES; index += 1) {
    const encoded = parameters.get(`${name}*${index}*`);
    const piece = encoded ?? parameters.get(`${name}*${index}`);
    if (piece === undefined) break;
    isExtended ||= encoded !== undefined;
    pieces.push({ text: piece, isEncoded: encoded !== undefined });
  }
  if (pieces.length === 0) return undefined;
  // Of several, some may be encoded and others not (RFC 2231 section 4.1).
  const whole = pieces.map(({ text, isEncoded }) => (isExtended && !isEncoded ? text.replaceAll('%', '%25') : text));
  return isExtended ? decodeExtended(whole.join('')) : decodeField(whole.join(''));
}

/** `charset'language'%41…` (RFC 2231 section 4). */
function decodeExtended(value: string): string {
  const [, charset, text = value] = /^([\w-]{0,40})'[\w-]{0,20}'(.{0,4096})$/s.exec(value) ?? [];
  const bytes = text.replace(/%([0-9a-f]{2})/gi, (_escape, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return decodeCharset(bytes, charset || undefined);
}

function clean(text: string): string {
  return text.replace(CONTROLS, ' ');
}
