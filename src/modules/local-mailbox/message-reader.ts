import PostalMime from 'postal-mime';
import type { InlinePart } from '../../common/mime/inline-images';
import { readMessageAndFiles } from '../../common/mime/message-view';
import { displayLine } from '../../common/http/responses/downloads';

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

/** The parts of a message, unless it is too large to be taken apart here. */
export type MessageContent =
  | {
      readonly kind: 'parts';
      readonly text: string | undefined;
      readonly html: string | undefined;
      readonly attachments: readonly MessagePart[];
    }
  | { readonly kind: 'too-large' };

const MAX_PARSED_BYTES = 10 * 1024 * 1024;
/** Attachments that are shown. */
const MAX_ATTACHMENTS = 200;
const MAX_FILENAME_LENGTH = 150;
const MAX_TYPE_LENGTH = 100;

/** Takes a message apart, in turns of the event loop. Never throws. */
export async function parseMessage(raw: Buffer): Promise<MessageContent> {
  if (raw.length > MAX_PARSED_BYTES) return { kind: 'too-large' };
  const { text, html, files } = await readMessageAndFiles(raw, MAX_ATTACHMENTS);
  const attachments = files.map(({ filename, contentType, contentId, bytes, index }) => ({
    filename: displayLine(filename, MAX_FILENAME_LENGTH) || `attachment-${index + 1}`,
    type: displayLine(contentType, MAX_TYPE_LENGTH) || 'application/octet-stream',
    contentId,
    bytes,
  }));
  return { kind: 'parts', text, html, attachments };
}
