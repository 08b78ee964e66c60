import { isAscii } from 'node:buffer';
import { Readable } from 'node:stream';
import MailComposer, { type MailComposerAttachment } from 'nodemailer/lib/mail-composer';
import { EVENT_LOOP, OUTGOING, slicesInTurns } from '../../common/async/fair-turns';
import { needsSmtpUtf8 } from '../../common/mail-address';
import { concatInTurns } from '../../common/mime/body-parts';
import { parseHeader } from '../../common/mime/header-fields';
import { crlfChunks, toCrlfInTurns } from '../../common/mime/line-ends';
import { signatureOf, type SignOptions } from '../dkim/sign-message';
import type { CompleteMessage, MessageAttachment, OutgoingMessage, SigningKey } from '../ports/sources';
import { contentEntity, contentInTurn, textEntity } from './content';
import { formatDate, headerBlock, type HeaderField, messageId, plainField } from './header-field';

/**
 * Composes the bytes of a message (RFC 5322, MIME): CRLF only, no line over 998 octets, 7-bit throughout except for the
 * local parts that `headerNeedsSmtpUtf8` finds. The same message and extra headers give the same bytes every time.
 *
 * Text and html alone, which is most mail, are built here: 2 kB in 14 µs, a general library's 200. Attachments take the
 * general way.
 *
 * @param extraHeaders fields that the engine or a feature adds, after those of the customer
 */
export async function composeMessage(
  message: CompleteMessage,
  extraHeaders: readonly HeaderField[] = [],
): Promise<Buffer> {
  const header = Buffer.from(headerBlock(message, extraHeaders));
  const hasAttachments = (message.attachments?.length ?? 0) > 0;
  if (hasAttachments) return concatInTurns([header, ...(await mixedEntity(message))], OUTGOING);
  const content = await contentEntity(await contentInTurn(message), `=_${message.emailId}`);
  return concatInTurns([header, content], OUTGOING);
}

/** A whole number of base64 lines; small enough for other work to get its turn between two slices. */
const SLICE_BYTES = 57 * 4_096;
const OPAQUE = 'application/octet-stream';
/** RFC 2045 section 5.1, with simple parameters; anything else is sent as opaque bytes. */
const MEDIA_TYPE =
  /^[\w!#$&^.+-]{1,80}\/[\w!#$&^.+-]{1,120}(?: ?; ?[\w.-]{1,40}=(?:[\w.+-]{1,80}|"[\w .+:/-]{1,80}"))*$/;
const CONTROLS = /[\x00-\x1f\x7f-\x9f]/g;
const HEADER_END = '\r\n\r\n';

/**
 * The content of a message with attachments or inline parts, from its Content-Type on.
 *
 * nodemailer builds the tree (mixed, alternative, related) and encodes file names and attachments; texts come ready made
 * from `textEntity`, and the message's header from `headerBlock`, so that both kinds of message agree. All that nodemailer
 * would choose at random is given.
 */
async function mixedEntity(message: CompleteMessage): Promise<Buffer[]> {
  const { text, html } = await contentInTurn(message);
  const composer = new MailComposer({
    messageId: messageId(message),
    date: message.date,
    baseBoundary: message.emailId,
    boundaryPrefix: '=_',
    text: text === undefined ? undefined : { raw: await textEntity('plain', text) },
    html: html === undefined ? undefined : { raw: await textEntity('html', html) },
    attachments: await Promise.all((message.attachments ?? []).map(toAttachment)),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const chunks: Buffer[] = [];
  for await (const chunk of crlfChunks(composer.compile().createReadStream())) chunks.push(chunk);
  return withoutMessageHeader(chunks);
}

async function toAttachment(attachment: MessageAttachment): Promise<MailComposerAttachment> {
  const { contentType, contentTransferEncoding, content } = await describe(attachment);
  return {
    filename: attachment.filename.replace(CONTROLS, ' ').trim() || 'attachment',
    contentType,
    contentTransferEncoding,
    contentDisposition: attachment.contentId === undefined ? 'attachment' : 'inline',
    cid: attachment.contentId?.replace(/[^\x21-\x7e]|[<>]/g, ''),
    content: Readable.from(slices(content), { objectMode: false }),
  };
}

/**
 * RFC 2046 section 5.2.1 forbids base64 for `message/rfc822`, so one that fits 7 bits goes as it is, and one that does not
 * goes as opaque bytes, as does `multipart/*`, which would need a boundary that is not known here.
 */
async function describe({ contentType, content }: MessageAttachment) {
  const isMessage = /^message\//i.test(contentType);
  if (isMessage && MEDIA_TYPE.test(contentType) && (await fitsSevenBits(content))) {
    return { contentType, contentTransferEncoding: '7bit', content: await toCrlfInTurns(content, OUTGOING) };
  }
  const isOpaque = isMessage || /^multipart\//i.test(contentType) || !MEDIA_TYPE.test(contentType);
  return { contentType: isOpaque ? OPAQUE : contentType, contentTransferEncoding: 'base64', content };
}

/** ASCII without NUL, in lines of at most 998 octets (RFC 2045 section 2.7). */
async function fitsSevenBits(content: Buffer): Promise<boolean> {
  let lineLength = 0;
  for await (const slice of slicesInTurns(content, OUTGOING)) {
    for (let at = 0; at < slice.length; at += 1) {
      const byte = slice[at] as number;
      lineLength = byte === 0x0a || byte === 0x0d ? 0 : lineLength + 1;
      if (byte === 0 || byte > 0x7f || lineLength > 998) return false;
    }
  }
  return true;
}

async function* slices(content: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += SLICE_BYTES) {
    if (at > 0) await EVENT_LOOP.next(OUTGOING);
    yield content.subarray(at, at + SLICE_BYTES);
  }
}

/** Keeps of nodemailer's root header only what describes the content. Large content is not copied for it. */
function withoutMessageHeader(chunks: readonly Buffer[]): Buffer[] {
  let start = Buffer.alloc(0);
  let used = 0;
  for (; !start.includes(HEADER_END) && used < chunks.length; used += 1) {
    start = Buffer.concat([start, chunks[used] ?? Buffer.alloc(0)]);
  }
  const end = start.indexOf(HEADER_END);
  const fields = start.toString('latin1', 0, end).split(/\r\n(?![\t ])/);
  const kept = fields.filter((field) => /^content-/i.test(field)).join('\r\n');
  return [Buffer.from(kept, 'latin1'), start.subarray(end), ...chunks.slice(used)];
}

/** Room for what goes before a raw message: a signature, Date and Message-ID take about one kilobyte. */
export const RAW_ROOM = 4 * 1024;

/**
 * A raw message ready for the wire: as it came, with Date and Message-ID where it has none, signed. The same email gives the
 * same bytes every time. A large message is not copied, as there is room before it.
 *
 * @param buffer the message behind `room` free bytes
 */
export async function signRawMessage(
  buffer: Buffer,
  room: number,
  email: Pick<OutgoingMessage, 'emailId' | 'from' | 'date'>,
  key: SigningKey,
): Promise<Buffer> {
  const { fields } = parseHeader(buffer.subarray(room));
  const hasMessageId = fields.has('message-id');
  const missing = [
    fields.has('date') ? '' : plainField('Date', formatDate(email.date)),
    hasMessageId ? '' : plainField('Message-ID', messageId(email)),
  ].join('');
  const whole = putBefore(buffer, room, Buffer.from(missing, 'latin1'));
  const options: SignOptions = { signedAt: email.date, ...(hasMessageId && { identity: email.emailId }) };
  const signature = await signatureOf(whole.buffer.subarray(whole.room), key, options);
  const signed = putBefore(whole.buffer, whole.room, signature);
  return signed.buffer.subarray(signed.room);
}

function putBefore(buffer: Buffer, room: number, start: Buffer): { buffer: Buffer; room: number } {
  // Of a header with hundreds of equal fields the signature has as many names.
  if (start.length > room) return { buffer: Buffer.concat([start, buffer.subarray(room)]), room: 0 };
  start.copy(buffer, room - start.length);
  return { buffer, room: room - start.length };
}

const ADDRESS_FIELDS = ['from', 'sender', 'reply-to', 'to', 'cc'];
/** No name before angle brackets, and no quoted one, which no @ follows, nor a comment (RFC 5322 section 3.4). */
const ADDRESS = /[^\s<>",;:()]{1,320}@[^\s<>",;:()]{1,320}(?![^\s<>",;:()]|[ \t\r\n]{0,10}<)/g;
const NO_ADDRESS = /"(?:[^"\\]|\\.){0,1000}"(?!@)|\([^()]{0,1000}\)/gs;
const MAX_FIELD = 32 * 1024;

/** Whether an address has a non-ASCII local part (RFC 6531), in the first bytes of its field; other UTF-8 is sent as it is. */
export function rawNeedsSmtpUtf8(message: Buffer): boolean {
  const { fields, bodyStart } = parseHeader(message);
  if (!hasHighBytes(message.subarray(0, bodyStart))) return false;
  return ADDRESS_FIELDS.flatMap((name) => fields.get(name) ?? []).some(({ colon, end }) => {
    const value = message.toString('utf8', colon + 1, Math.min(end, colon + 1 + MAX_FIELD));
    return (value.replace(NO_ADDRESS, ' ').match(ADDRESS) ?? []).some(needsSmtpUtf8);
  });
}

/** Bytes over 0x7f: a server that takes them offers 8BITMIME (RFC 6152). */
export function hasHighBytes(bytes: Buffer): boolean {
  return !isAscii(bytes);
}
