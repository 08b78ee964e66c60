import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairTurns, WorkTurns } from '../async/fair-turns';
import { type ContentType, type HeaderFields, MIME_LIMITS, readContentType, readMessageHeader } from './mime-message';

/** What one message may make `findParts` do. */
export const PART_LIMITS = {
  /** Multiparts inside one another; one that lies deeper is taken for a file. */
  depth: 8,
  /** Leaf parts; later ones are ignored. */
  parts: 500,
  headerBytes: 256 * 1024,
  /** Of the message itself: the listener takes no longer header. */
  messageHeaderBytes: 1024 * 1024,
  /** Lines that start like a delimiter, in all; beyond it the search ends. */
  candidates: 20_000,
} as const;

const EMPTY_LINES = ['\n\r\n', '\n\n'];
/** Searched in one turn of the event loop: some milliseconds. */
const WINDOW_BYTES = 1024 * 1024;
/** Parts that are read in one turn. */
const TURN_MS = 10;
/** Bytes of a delimiter that are searched for; the rest is compared where they are found. */
const SEARCHED = 8;

/** A part that is no multipart: where its body lies within the message, still encoded. */
export interface PlacedPart {
  readonly fields: HeaderFields;
  readonly contentType: ContentType;
  readonly start: number;
  readonly end: number;
}

export interface PlacedParts {
  /** The message's own. */
  readonly fields: HeaderFields;
  readonly parts: readonly PlacedPart[];
}

/**
 * Finds the parts of a message (RFC 2046 section 5.1) without copying or decoding anything. Takes any bytes, with CRLF or LF;
 * linear in them, whatever they are, and the event loop has its turn in between. Attached messages are not opened.
 */
export async function findParts(message: Buffer): Promise<PlacedParts> {
  const finder = new PartFinder(message);
  const fields = await finder.read({ start: 0, end: message.length }, 0);
  return { fields, parts: finder.parts };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

interface Delimiter extends Span {
  readonly closes: boolean;
}

class PartFinder {
  readonly parts: PlacedPart[] = [];
  private candidates = 0;
  /** Between small parts, too: 500 with headers of thousands of fields take half a second. */
  private readonly turns = new WorkTurns('', new FairTurns(), TURN_MS);

  constructor(private readonly message: Buffer) {}

  /** Returns the fields of the entity that lies there. */
  async read({ start, end }: Span, depth: number): Promise<HeaderFields> {
    const isMessage = depth === 0;
    const head = this.headAt({ start, end }, isMessage ? PART_LIMITS.messageHeaderBytes : PART_LIMITS.headerBytes);
    const { fields, rest } = readMessageHeader(
      head,
      isMessage ? MIME_LIMITS.shownHeaderLines : MIME_LIMITS.headerLines,
    );
    const bodyStart = start + head.length - rest.length;
    const contentType = readContentType(fields.first('content-type'));
    const boundary = contentType.parameters.get('boundary');
    const isOpened = contentType.type.startsWith('multipart/') && boundary && depth < PART_LIMITS.depth;
    if (isOpened) await this.readChildren({ start: bodyStart, end }, boundary, depth);
    else this.parts.push({ fields, contentType, start: bodyStart, end });
    return fields;
  }

  /** The header, up to its empty line. */
  private headAt({ start, end }: Span, maxBytes: number): string {
    const bytes = this.message.subarray(start, Math.min(end, start + maxBytes));
    const ends = EMPTY_LINES.map((line) => ({ at: bytes.indexOf(line), length: line.length })).filter(
      ({ at }) => at >= 0,
    );
    return bytes.toString('latin1', 0, Math.min(bytes.length, ...ends.map(({ at, length }) => at + length)));
  }

  private async readChildren(body: Span, boundary: string, depth: number): Promise<void> {
    const delimiterText = Buffer.from(`--${boundary}`, 'latin1');
    let delimiter = await this.findDelimiter(body, delimiterText, body.start);
    while (delimiter && !delimiter.closes && this.parts.length < PART_LIMITS.parts) {
      const next: Delimiter | undefined = await this.findDelimiter(body, delimiterText, delimiter.end);
      const end = next ? this.withoutLineEnd(delimiter.end, next.start) : body.end;
      await this.turns.next();
      await this.read({ start: delimiter.end, end }, depth + 1);
      delimiter = next;
    }
  }

  /** The next line that is the delimiter, with optional white space after it. */
  private async findDelimiter({ start, end }: Span, text: Buffer, from: number): Promise<Delimiter | undefined> {
    const beginning = Buffer.concat([Buffer.from('\n'), text.subarray(0, SEARCHED)]);
    // The line end before `from` counts, unless the body starts there.
    let at = from === start ? start - 1 : await this.find(beginning, from - 1, end);
    while (at !== -1 || from === start) {
      const line = at + 1;
      const found = at === -1 ? undefined : this.delimiterAt(line, end, text);
      if (found) return found;
      if (at === -1) return undefined;
      this.candidates += 1;
      if (this.candidates > PART_LIMITS.candidates) return undefined;
      at = await this.find(beginning, Math.max(at + 1, from - 1), end);
    }
    return undefined;
  }

  private delimiterAt(line: number, end: number, text: Buffer): Delimiter | undefined {
    const behind = line + text.length;
    if (behind > end || !this.message.subarray(line, behind).equals(text)) return undefined;
    const tail = /^(--)?[ \t\r]{0,100}(?:\n|$)/.exec(
      this.message.toString('latin1', behind, Math.min(end, behind + 110)),
    );
    return tail ? { start: line, end: behind + tail[0].length, closes: tail[1] !== undefined } : undefined;
  }

  private async find(text: Buffer, from: number, end: number): Promise<number> {
    for (let at = Math.max(0, from); at < end; at += WINDOW_BYTES) {
      if (at > from) await nextTurn();
      const window = this.message.subarray(at, Math.min(end, at + WINDOW_BYTES + text.length - 1));
      const found = window.indexOf(text);
      if (found !== -1) return at + found;
    }
    return -1;
  }

  /** The line end before a delimiter belongs to the delimiter (RFC 2046 section 5.1.1). */
  private withoutLineEnd(start: number, end: number): number {
    const before = this.message.toString('latin1', Math.max(start, end - 2), end);
    if (before === '\r\n') return end - 2;
    return before.endsWith('\n') ? end - 1 : end;
  }
}
