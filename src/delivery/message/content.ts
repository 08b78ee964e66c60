import type { OutgoingMessage } from '../ports/message-source';
import { encodeBody } from './body-encoding';
import { textFromHtml } from './text-from-html';

/** What the reader gets to see; at least one of the two is set. */
export interface Content {
  readonly text?: string;
  readonly html?: string;
}

/** The message's content, with a text derived where there is html alone and it says something. */
export function contentOf(message: Pick<OutgoingMessage, 'text' | 'html'>): Content {
  const text = message.text ?? '';
  const html = message.html ?? '';
  if (html === '') return { text };
  const shown = text === '' ? textFromHtml(html) : text;
  return shown === '' ? { html } : { text: shown, html };
}

/** A MIME entity of text: its header fields, an empty line, and its body without a line end of its own. */
export function textEntity(subtype: 'plain' | 'html', text: string): Buffer {
  const body = encodeBody(text);
  const header =
    `Content-Type: text/${subtype}; charset=utf-8\r\n` + `Content-Transfer-Encoding: ${body.encoding}\r\n\r\n`;
  return Buffer.concat([Buffer.from(header, 'latin1'), body.bytes]);
}

/**
 * The whole content of a message without attachments (RFC 2046 section 5.1.4: the richest alternative comes last).
 * The boundary contains `=_`, which none of the bodies can.
 */
export function contentEntity(content: Content, boundary: string): Buffer {
  if (content.html === undefined) return withFinalLineEnd(textEntity('plain', content.text ?? ''));
  if (content.text === undefined) return withFinalLineEnd(textEntity('html', content.html));
  return Buffer.concat([
    Buffer.from(`Content-Type: multipart/alternative; boundary="${boundary}"\r\n\r\n--${boundary}\r\n`, 'latin1'),
    textEntity('plain', content.text),
    Buffer.from(`\r\n--${boundary}\r\n`, 'latin1'),
    textEntity('html', content.html),
    Buffer.from(`\r\n--${boundary}--\r\n`, 'latin1'),
  ]);
}

function withFinalLineEnd(entity: Buffer): Buffer {
  return entity.at(-1) === 0x0a ? entity : Buffer.concat([entity, Buffer.from('\r\n', 'latin1')]);
}
