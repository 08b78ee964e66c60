import { compile, type FormatCallback } from 'html-to-text';
import { EVENT_LOOP, OUTGOING } from '../../common/async/fair-turns';
import { concatInTurns } from '../../common/mime/body-parts';
import { toCrlf, toCrlfInTurns } from '../../common/mime/line-ends';
import type { OutgoingMessage } from '../ports/sources';
import { encodeQuotedPrintable, encodeQuotedPrintableInTurns } from './quoted-printable';

/** What the reader gets to see; at least one of the two is set. */
export interface Content {
  readonly text?: string;
  readonly html?: string;
}

/** The message's content; a text part is derived where there is only html with text in it, in turns of the event loop. */
export async function contentInTurn(message: Pick<OutgoingMessage, 'text' | 'html'>): Promise<Content> {
  const { text, html } = message;
  if (!html) return { text: text ?? '' };
  const shown = text || (await textFromHtml(html));
  return shown === '' ? { html } : { text: shown, html };
}

/** Longer texts are encoded in several turns of the event loop: 5 MiB took a tenth of a second. */
const LARGE = 128 * 1024;

/** A MIME entity of text: its header fields, an empty line, and its body without a line end of its own. */
export async function textEntity(subtype: 'plain' | 'html', text: string): Promise<Buffer> {
  const body = text.length <= LARGE ? encodeBody(text) : await encodeLargeBody(text);
  const header =
    `Content-Type: text/${subtype}; charset=utf-8\r\n` + `Content-Transfer-Encoding: ${body.encoding}\r\n\r\n`;
  return concatInTurns([Buffer.from(header, 'latin1'), body.bytes], OUTGOING);
}

/**
 * The whole content of a message without attachments (RFC 2046 section 5.1.4: the richest alternative comes last).
 * The boundary contains `=_`, which none of the bodies can.
 */
export async function contentEntity(content: Content, boundary: string): Promise<Buffer> {
  if (content.html === undefined) return withFinalLineEnd(await textEntity('plain', content.text ?? ''));
  if (content.text === undefined) return withFinalLineEnd(await textEntity('html', content.html));
  const parts = [
    Buffer.from(`Content-Type: multipart/alternative; boundary="${boundary}"\r\n\r\n--${boundary}\r\n`, 'latin1'),
    await textEntity('plain', content.text),
    Buffer.from(`\r\n--${boundary}\r\n`, 'latin1'),
    await textEntity('html', content.html),
    Buffer.from(`\r\n--${boundary}--\r\n`, 'latin1'),
  ];
  return concatInTurns(parts, OUTGOING);
}

async function withFinalLineEnd(entity: Buffer): Promise<Buffer> {
  return entity.at(-1) === 0x0a ? entity : concatInTurns([entity, Buffer.from('\r\n', 'latin1')], OUTGOING);
}

export interface EncodedBody {
  readonly encoding: '7bit' | 'quoted-printable' | 'base64';
  /** ASCII only, CRLF only, no line longer than 76 characters. */
  readonly bytes: Buffer;
}

/**
 * True when some relay might alter the text on its way: lines over 76 characters, white space at the end of a line, `From ` or
 * a dot at its start, controls; or when the text might hold one of our boundaries, which all contain `=_`.
 */
const UNSAFE_AS_IT_IS = /(?:^|[\r\n])(?:[^\r\n]{77}|\.|From )|[\t ](?:[\r\n]|$)|[^\t\n\r\x20-\x7e]|=_/;
const BASE64_LINE_BYTES = 57;

/**
 * Encodes text for the wire, which is 7-bit always, so that a next hop without 8BITMIME never forces a conversion that
 * would break the signature. Short plain lines stay as they are; text in which every third byte is non-ASCII (any script
 * but Latin) is smaller in base64; all else is quoted-printable.
 */
export function encodeBody(text: string): EncodedBody {
  const bytes = Buffer.from(text);
  const isAscii = bytes.length === text.length;
  if (isAscii && !UNSAFE_AS_IT_IS.test(text)) return { encoding: '7bit', bytes: toCrlf(bytes) };
  if (!isAscii && isMostlyOther(bytes)) return { encoding: 'base64', bytes: toBase64Lines(toCrlf(bytes)) };
  return { encoding: 'quoted-printable', bytes: encodeQuotedPrintable(bytes) };
}

/** The same, with turns of the event loop in between. */
export async function encodeLargeBody(text: string): Promise<EncodedBody> {
  await EVENT_LOOP.next(OUTGOING);
  const bytes = Buffer.from(text);
  await EVENT_LOOP.next(OUTGOING);
  const isAscii = bytes.length === text.length;
  if (isAscii && !(await isUnsafe(text))) return { encoding: '7bit', bytes: await toCrlfInTurns(bytes, OUTGOING) };
  if (isAscii || !isMostlyOther(bytes)) {
    return { encoding: 'quoted-printable', bytes: await encodeQuotedPrintableInTurns(bytes) };
  }
  const lines: Buffer[] = [];
  const whole = await toCrlfInTurns(bytes, OUTGOING);
  for (let at = 0; at < whole.length; at += TURN_BYTES) {
    await EVENT_LOOP.next(OUTGOING);
    lines.push(Buffer.from(at === 0 ? '' : '\r\n'), toBase64Lines(whole.subarray(at, at + TURN_BYTES)));
  }
  return { encoding: 'base64', bytes: await concatInTurns(lines, OUTGOING) };
}

/** Checked or encoded in one turn; whole base64 lines. */
const TURN_BYTES = 4_096 * BASE64_LINE_BYTES;

/** Line by line, as the pattern matches at most one line and its end. */
async function isUnsafe(text: string): Promise<boolean> {
  for (let at = 0, end: number; at < text.length; at = end) {
    end = Math.max(text.lastIndexOf('\n', at + TURN_BYTES), text.lastIndexOf('\r', at + TURN_BYTES)) + 1;
    if (text.length - at <= TURN_BYTES) end = text.length;
    // A line of that length.
    if (end <= at || UNSAFE_AS_IT_IS.test(text.slice(at, end))) return true;
    await EVENT_LOOP.next(OUTGOING);
  }
  return false;
}

function isMostlyOther(bytes: Buffer): boolean {
  return countNonAscii(bytes) * 3 > bytes.length;
}

function countNonAscii(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) count += (bytes[at] as number) >> 7;
  return count;
}

function toBase64Lines(bytes: Buffer): Buffer {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += BASE64_LINE_BYTES) {
    lines.push(bytes.toString('base64', at, at + BASE64_LINE_BYTES));
  }
  return Buffer.from(lines.join('\r\n'), 'latin1');
}

/**
 * Bounds on what is read of the html. Nested or unclosed tags cost the parser quadratic time: 256 KiB of them took 2.5 s,
 * of 8,000 tags the worst of 45 hostile documents 40 ms. Newsletters have 1,000 to 3,000 tags.
 */
const MAX_INPUT_LENGTH = 256 * 1_024;
const MAX_TAGS = 8_000;
const MAX_DEPTH = 60;
const MAX_CHILD_NODES = 5_000;
const LINE_WIDTH = 76;

/** An image's alternative text; its address is of no use to a reader. */
const alternativeText: FormatCallback = (element, _walk, builder) => {
  const attributes = element.attribs as Readonly<Record<string, string>> | undefined;
  if (attributes?.alt) builder.addInline(attributes.alt);
};

const convert = compile({
  formatters: { alternativeText },
  wordwrap: LINE_WIDTH,
  limits: { maxDepth: MAX_DEPTH, maxChildNodes: MAX_CHILD_NODES, ellipsis: '…' },
  selectors: [
    { selector: 'img', format: 'alternativeText' },
    { selector: 'tr', format: 'block' },
    ...['td', 'th'].map((selector) => ({ selector, format: 'inlineSurround', options: { suffix: ' ' } })),
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true } },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});

/** The text of shorter html takes half a millisecond or so to derive. */
const SHORT_HTML = 4 * 1024;

/** The text to show where html is not shown; empty when the html has no text. Never rejects, never takes long. */
export async function textFromHtml(html: string): Promise<string> {
  const texts: string[] = [];
  for (const piece of piecesOf(cut(html))) {
    if (html.length > SHORT_HTML) await EVENT_LOOP.next(OUTGOING);
    texts.push(textOf(piece));
  }
  return texts.filter((text) => text !== '').join('\n\n');
}

/** Behind the last cell of a row: other lines need no encoding. Each run is read once. */
const SPACES_AT_END = /(?<! ) +$/gm;

function textOf(html: string): string {
  try {
    return convert(html).replace(SPACES_AT_END, '').trim();
  } catch {
    // The text part is optional: an error of the parser must not stop the mail.
    return '';
  }
}

/** Tags that are converted in one turn of the event loop, after which a new line is looked for: 20 ms; all of them took 70. */
const PIECE_TAGS = 2_000;
/** What begins a line wherever it stands. */
const BEGINS_LINE = /<(?:p|div|table|tr|h[1-6])(?=[\s/>])/g;
/** What must be whole in a piece: comments of Outlook have tags in them, and lists have their marks by what encloses them. */
const WHOLE: readonly (readonly [opening: string, closing: string])[] = [
  ['<!--', '-->'],
  ...['style', 'script', 'pre', 'ul', 'ol', 'blockquote'].map((name) => [`<${name}`, `</${name}`] as const),
];
const MAX_TRIED = 10;

function* piecesOf(html: string): Generator<string> {
  let start = 0;
  let tags = 0;
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) {
    tags += 1;
    if (tags < PIECE_TAGS) continue;
    const end = lineFrom(html, at);
    if (end === undefined) break;
    yield html.slice(start, end);
    [start, at, tags] = [end, end, 1];
  }
  yield html.slice(start);
}

function lineFrom(html: string, from: number): number | undefined {
  BEGINS_LINE.lastIndex = from;
  for (let tried = 0; tried < MAX_TRIED; tried += 1) {
    const found = BEGINS_LINE.exec(html);
    if (!found) return undefined;
    const isWithin = WHOLE.some(
      ([open, close]) => html.lastIndexOf(open, found.index) > html.lastIndexOf(close, found.index),
    );
    if (!isWithin) return found.index;
  }
  return undefined;
}

function cut(html: string): string {
  let end = Math.min(html.length, MAX_INPUT_LENGTH);
  let tags = 0;
  for (let at = html.indexOf('<'); at >= 0 && at < end; at = html.indexOf('<', at + 1)) {
    tags += 1;
    if (tags > MAX_TAGS) end = at;
  }
  return html.slice(0, end);
}
