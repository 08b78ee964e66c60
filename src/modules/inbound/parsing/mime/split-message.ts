import { PARSING_LIMITS } from '../parsing-limits';
import { readContentType, type ContentType } from './content-type';
import { readHeader, type HeaderFields } from './header-fields';

/** One part of a message, or the message itself. Texts have one character a byte, so that bytes can be had back. */
export interface MessagePart {
  readonly fields: HeaderFields;
  readonly contentType: ContentType;
  /** As it came, still encoded. */
  readonly body: string;
  /** Of a multipart; attached messages are not opened. */
  readonly children: readonly MessagePart[];
}

/** Splits a message into its parts (RFC 2046 section 5.1); undefined when it nests too deep or has too many of them. */
export function splitMessage(raw: Buffer): MessagePart | undefined {
  const splitter = new MessageSplitter();
  const message = splitter.split(raw.subarray(0, PARSING_LIMITS.messageLength).toString('latin1'), 0);
  return splitter.tooComplex ? undefined : message;
}

/** The parts that are no multiparts, in their order. */
export function leavesOf(part: MessagePart): MessagePart[] {
  return part.children.length === 0 ? [part] : part.children.flatMap(leavesOf);
}

class MessageSplitter {
  tooComplex = false;
  private parts = 0;

  split(text: string, depth: number): MessagePart {
    this.parts++;
    const { fields, rest, cut } = readHeader(text);
    const contentType = readContentType(fields.first('content-type'));
    const boundary = contentType.parameters.get('boundary');
    const part = { fields, contentType, body: rest };
    this.tooComplex ||= cut || depth > PARSING_LIMITS.depth || this.parts > PARSING_LIMITS.parts;
    if (this.tooComplex || !boundary || !contentType.type.startsWith('multipart/')) return { ...part, children: [] };
    return { ...part, children: this.splitBody(rest, boundary, depth) };
  }

  private splitBody(body: string, boundary: string, depth: number): MessagePart[] {
    const children: MessagePart[] = [];
    let delimiter = findDelimiter(body, `--${boundary}`, 0);
    while (delimiter && !delimiter.closes && !this.tooComplex) {
      const next = findDelimiter(body, `--${boundary}`, delimiter.end);
      const content = body.slice(delimiter.end, next?.start);
      children.push(this.split(next ? withoutLineEnd(content) : content, depth + 1));
      delimiter = next;
    }
    return children;
  }
}

interface Delimiter {
  readonly start: number;
  /** Behind its line. */
  readonly end: number;
  readonly closes: boolean;
}

const TAIL = /^(--)?[ \t\r]{0,100}(?:\n|$)/;

/** The next line that is the delimiter, perhaps with white space behind it. Each line is looked at once. */
function findDelimiter(body: string, dashBoundary: string, from: number): Delimiter | undefined {
  for (let at = body.indexOf(dashBoundary, from); at !== -1; at = body.indexOf(dashBoundary, at + 1)) {
    if (at > 0 && body[at - 1] !== '\n') continue;
    const behind = at + dashBoundary.length;
    const tail = TAIL.exec(body.slice(behind, behind + 110));
    if (tail) return { start: at, end: behind + tail[0].length, closes: tail[1] !== undefined };
  }
  return undefined;
}

/** The line end before a delimiter belongs to the delimiter (RFC 2046 section 5.1.1). */
function withoutLineEnd(content: string): string {
  if (content.endsWith('\r\n')) return content.slice(0, -2);
  return content.endsWith('\n') ? content.slice(0, -1) : content;
}
