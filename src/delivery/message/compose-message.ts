import { Readable } from 'node:stream';
import MailComposer, { type MailComposerAttachment } from 'nodemailer/lib/mail-composer';
import { EVENT_LOOP, OUTGOING, slicesInTurns } from '../../common/async/fair-turns';
import { concatInTurns } from '../../common/mime/body-parts';
import { crlfChunks, toCrlfInTurns } from '../../common/mime/line-ends';
import type { CompleteMessage, MessageAttachment } from '../ports/sources';
import { contentEntity, contentInTurn, textEntity } from './content';
import { headerBlock, type HeaderField, messageId } from './header-field';

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
