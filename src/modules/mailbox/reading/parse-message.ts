import PostalMime, { type Attachment, type Email } from 'postal-mime';
import { displayLine } from './display-text';

export interface MessagePart {
  /** Without path; never empty. */
  readonly filename: string;
  /** As the sender says: to be shown, not to be believed. */
  readonly type: string;
  /** Without angle brackets. */
  readonly contentId: string | undefined;
  readonly bytes: Buffer;
}

/** The parts of a message, or why they cannot be told apart. */
export type MessageContent =
  | {
      readonly kind: 'parts';
      readonly text: string | undefined;
      readonly html: string | undefined;
      readonly attachments: readonly MessagePart[];
    }
  | { readonly kind: 'too-large' | 'malformed' };

const MIB = 1024 * 1024;
/** The parser holds a message several times over and works on the event loop. */
const MAX_PARSED_BYTES = 10 * MIB;
/** A message of nothing but parts can have hundreds of thousands. */
const MAX_ATTACHMENTS = 200;
const LIMITS = { maxNestingDepth: 100, maxHeadersSize: MIB, forceRfc822Attachments: true };
const MAX_FILENAME_LENGTH = 150;
const MAX_TYPE_LENGTH = 100;

/** Takes a message apart. Never throws: what the parser refuses is `malformed`. */
export async function parseMessage(raw: Buffer): Promise<MessageContent> {
  if (raw.length > MAX_PARSED_BYTES) return { kind: 'too-large' };
  try {
    return toContent(await PostalMime.parse(raw, LIMITS));
  } catch {
    return { kind: 'malformed' };
  }
}

function toContent({ text, html, attachments }: Email): MessageContent {
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
