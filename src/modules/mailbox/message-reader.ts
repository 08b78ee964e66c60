import { Worker } from 'node:worker_threads';
import PostalMime, { type Attachment, type Email, type PostalMimeOptions } from 'postal-mime';
import { SECOND } from '../../common/clock';
import type { InlinePart } from '../../common/mime/inline-images';
import { displayLine } from './page-layout';

export interface HeaderField {
  readonly name: string;
  /** Unfolded, not decoded. */
  readonly value: string;
}

export interface MessageSummary {
  /** The From field, decoded; empty when there is none. */
  readonly sender: string;
  readonly subject: string;
}

/** Longer headers are read up to here. */
const MAX_HEAD_BYTES = 256 * 1024;
const MAX_DECODED_LENGTH = 4_000;
const MAX_SENDER_LENGTH = 320;
const MAX_SUBJECT_LENGTH = 500;

/**
 * The header fields of a message, in order. Accepts any bytes and never throws: lines that are no field are left out, line
 * ends may be bare, invalid UTF-8 becomes replacement characters.
 */
export function readHead(raw: Buffer): HeaderField[] {
  const head = raw.subarray(0, MAX_HEAD_BYTES);
  const end = head.indexOf('\r\n\r\n');
  const fields: { name: string; value: string }[] = [];
  for (const line of head.toString('utf8', 0, end === -1 ? head.length : end).split(/\r?\n/)) {
    if (line === '') break;
    const colon = line.indexOf(':');
    const last = fields.at(-1);
    if (/^[ \t]/.test(line)) {
      if (last) last.value += line;
    } else if (colon > 0) {
      fields.push({ name: line.slice(0, colon).trimEnd(), value: line.slice(colon + 1).trim() });
    }
  }
  return fields;
}

/** The first field of that name with its encoded words decoded (RFC 2047), as one line; empty when there is none. */
export function decodedField(fields: readonly HeaderField[], name: string, maxLength = MAX_DECODED_LENGTH): string {
  const field = fields.find((each) => each.name.toLowerCase() === name);
  return displayLine(PostalMime.decodeWords(field?.value.slice(0, MAX_DECODED_LENGTH) ?? ''), maxLength);
}

/** The fields of a message that lists show. */
export function summarize(raw: Buffer): MessageSummary {
  const fields = readHead(raw);
  return {
    sender: decodedField(fields, 'from', MAX_SENDER_LENGTH),
    subject: decodedField(fields, 'subject', MAX_SUBJECT_LENGTH),
  };
}

export interface MessagePart extends InlinePart {
  /** Without a path; never empty. */
  readonly filename: string;
}

/** The parts of a message, or why they cannot be separated. */
export type MessageContent =
  | {
      readonly kind: 'parts';
      readonly text: string | undefined;
      readonly html: string | undefined;
      readonly attachments: readonly MessagePart[];
    }
  | { readonly kind: 'too-large' | 'malformed' };

const MIB = 1024 * 1024;
/** Larger messages are not parsed: the parser holds several copies of a message. */
const MAX_PARSED_BYTES = 10 * MIB;
/** Up to this size any message is parsed within a few milliseconds; starting a thread would take longer. */
const SHORT_BYTES = 4 * 1024;
/** Attachments that are shown; a hostile message can have hundreds of thousands of parts. */
const MAX_ATTACHMENTS = 200;
const LIMITS = { maxNestingDepth: 100, maxHeadersSize: MIB, forceRfc822Attachments: true };
const MAX_FILENAME_LENGTH = 150;
const MAX_TYPE_LENGTH = 100;

/** Parses a message. Never throws: a message that the parser refuses is `malformed`. */
export async function parseMessage(raw: Buffer): Promise<MessageContent> {
  if (raw.length > MAX_PARSED_BYTES) return { kind: 'too-large' };
  const parsed = raw.length > SHORT_BYTES ? await parseInThread(raw, LIMITS) : await parseHere(raw);
  return parsed ? toContent(parsed) : { kind: 'malformed' };
}

async function parseHere(raw: Buffer): Promise<ParsedEmail | undefined> {
  try {
    return await PostalMime.parse(raw, LIMITS);
  } catch {
    return undefined;
  }
}

function toContent({ text, html, attachments }: ParsedEmail): MessageContent {
  return { kind: 'parts', text, html, attachments: attachments.slice(0, MAX_ATTACHMENTS).map(toPart) };
}

function toPart(attachment: Attachment, index: number): MessagePart {
  const lastSegment = (attachment.filename ?? '').split(/[\\/]/).at(-1) ?? '';
  return {
    filename: displayLine(lastSegment, MAX_FILENAME_LENGTH) || `attachment-${index + 1}`,
    type: displayLine(attachment.mimeType, MAX_TYPE_LENGTH) || 'application/octet-stream',
    contentId: attachment.contentId?.replace(/^<|>$/g, ''),
    bytes: toBuffer(attachment.content),
  };
}

function toBuffer(content: Attachment['content']): Buffer {
  if (typeof content === 'string') return Buffer.from(content);
  if (ArrayBuffer.isView(content)) return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  return Buffer.from(content);
}

/** Converts a parsed message to what the pages show. */
export type ParsedEmail = Pick<Email, 'attachments' | 'html' | 'text'>;

/** The thread's program, as text: it does not depend on how this file was loaded. */
const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads');
  const library = require(workerData.library);
  const parser = library.default ?? library;
  parser.parse(workerData.raw, workerData.options).then(
    ({ text, html, attachments }) => parentPort.postMessage({ text, html, attachments }),
    () => parentPort.postMessage(undefined),
  );
`;

const TIMEOUT_MS = 10 * SECOND;
const MAX_MEMORY_MB = 512;

/**
 * Parses a message in a thread of its own, which is terminated after ten seconds: the parser takes 80 ms for 20 kB that consist
 * of parts only, and the time grows with the square of the size.
 * @returns undefined for a message that it refuses, or does not finish
 */
function parseInThread(raw: Buffer, options: PostalMimeOptions): Promise<ParsedEmail | undefined> {
  const thread = new Worker(THREAD, {
    eval: true,
    workerData: { raw, options, library: require.resolve('postal-mime') },
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  });
  const timer = setTimeout(() => void thread.terminate(), TIMEOUT_MS);
  return new Promise<ParsedEmail | undefined>((resolve) => {
    thread.once('message', (parsed: ParsedEmail | undefined) => resolve(parsed));
    // For example out of memory.
    thread.once('error', () => resolve(undefined));
    thread.once('exit', () => resolve(undefined));
  }).finally(() => {
    clearTimeout(timer);
    void thread.terminate();
  });
}
