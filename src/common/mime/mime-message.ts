/**
 * What one message may make a reader do. All work is linear in these numbers, whatever a message holds.
 */
export const MIME_LIMITS = {
  /** Bytes that `splitMessage` reads: the listener keeps no more of a report either. */
  messageLength: 2 * 1024 * 1024,
  /** Multiparts inside one another. */
  depth: 8,
  /** In the whole message. */
  parts: 50,
  /** Lines that start like a delimiter, counted for each multipart that they are in. */
  candidates: 20_000,
  /** Lines of one header, folded ones counted singly. */
  headerLines: 1000,
  /** The same of a message that is shown: a list of recipients may have thousands. Reading as many takes some milliseconds. */
  shownHeaderLines: 10_000,
  /** Characters of one field after unfolding; the rest is dropped. */
  fieldLength: 4096,
  /** Encoded characters of one part that are decoded and read as text. */
  textLength: 64 * 1024,
} as const;

interface Field {
  /** In lower case. */
  readonly name: string;
  /** As it came. */
  readonly spelledName: string;
  /** Unfolded and trimmed, one character a byte. */
  value: string;
}

/** The fields of one header in their order. Names are given in lower case. */
export class HeaderFields {
  constructor(private readonly fields: readonly Field[]) {}

  get size(): number {
    return this.fields.length;
  }

  first(name: string): string | undefined {
    return this.fields.find((field) => field.name === name)?.value;
  }

  all(name: string): string[] {
    return this.fields.filter((field) => field.name === name).map((field) => field.value);
  }

  /** In their order. */
  get list(): readonly Field[] {
    return this.fields;
  }

  has(...names: readonly string[]): boolean {
    return this.fields.some((field) => names.includes(field.name));
  }
}

export interface HeaderBlock {
  readonly fields: HeaderFields;
  /** What follows the empty line. */
  readonly rest: string;
  /** True when the header went on beyond the limit of lines. */
  readonly cut: boolean;
}

const NAME = /^([!-9;-~]{1,100})[ \t]{0,20}:/;

/**
 * Reads a header (RFC 5322 section 2.2) up to its empty line, with CRLF or LF. Lines that are no field are passed over,
 * as mail software writes many of them.
 *
 * @param text one character a byte
 */
export function readHeader(text: string): HeaderBlock {
  return readFields(text, () => false, MIME_LIMITS.headerLines);
}

/**
 * The same of a message or a part, where a line of white space may be part of a folded field (RFC 5322 section 4.2): it is, when
 * a field or the rest of one follows. Some mailers write one behind a long subject. Lines beyond the limit are no part of the body.
 */
export function readMessageHeader(text: string, maxLines: number = MIME_LIMITS.headerLines): HeaderBlock {
  const goesOn = (line: string, next: number): boolean =>
    FOLDED.test(line) && GOES_ON.test(text.slice(next, next + MAX_START));
  const block = readFields(text, goesOn, maxLines);
  if (!block.cut) return block;
  const end = EMPTY_LINE.exec(block.rest);
  return { ...block, rest: end ? block.rest.slice(end.index + end[0].length) : '' };
}

const EMPTY_LINE = /(?:^|\n)\r?\n/;

const FOLDED = /^[ \t]/;
const GOES_ON = /^(?:[ \t]{1,100}\S|[!-9;-~]{1,100}[ \t]{0,20}:)/;
/** More than the start of a line that shows what it is. */
const MAX_START = 200;

/** @param goesOn whether a line without a text, before what starts at `next`, belongs to the header */
function readFields(text: string, goesOn: (line: string, next: number) => boolean, maxLines: number): HeaderBlock {
  const fields: Field[] = [];
  let at = 0;
  for (let count = 0; count < maxLines && at < text.length; count++) {
    const next = text.indexOf('\n', at);
    const end = next === -1 ? text.length : next;
    const line = text.slice(at, Math.min(end, at + MIME_LIMITS.fieldLength));
    at = end + 1;
    if (line.trim() !== '') addLine(fields, line);
    else if (!goesOn(line, at)) return { fields: new HeaderFields(fields), rest: text.slice(at), cut: false };
  }
  return { fields: new HeaderFields(fields), rest: text.slice(at), cut: at < text.length };
}

function addLine(fields: Field[], line: string): void {
  const last = fields.at(-1);
  if (line.startsWith(' ') || line.startsWith('\t')) {
    if (last) last.value = `${last.value} ${line.trim()}`.slice(0, MIME_LIMITS.fieldLength);
    return;
  }
  const name = NAME.exec(line);
  if (!name?.[1]) return;
  fields.push({ name: name[1].toLowerCase(), spelledName: name[1], value: line.slice(name[0].length).trim() });
}

/** A media type with its parameters (RFC 2045 section 5.1), names and type in lower case. */
export interface ContentType {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}/;
/** Values are as long as a field may be: a name of 255 characters has 2,295 in the form of RFC 2231. */
const PARAMETER = /;\s{0,50}([\w*-]{1,50})\s{0,10}=\s{0,10}(?:"((?:[^"\\]|\\.){0,4096})"|([^\s;"]{1,4096}))/g;
const PLAIN: ContentType = { type: 'text/plain', parameters: new Map() };

/** Reads a Content-Type field; a missing or unreadable one means plain text (RFC 2045 section 5.2). */
export function readContentType(field = ''): ContentType {
  const type = TYPE.exec(field)?.[0];
  return type === undefined ? PLAIN : { type: type.toLowerCase(), parameters: parametersOf(field) };
}

/** The parameters after a type or a disposition; the first value of each name counts. */
export function parametersOf(field: string): ReadonlyMap<string, string> {
  const found = [...field.matchAll(PARAMETER)].map(([, name = '', quoted, bare = '']): [string, string] => [
    name.toLowerCase(),
    quoted?.replace(/\\(.)/g, '$1') ?? bare,
  ]);
  return new Map(found.reverse());
}

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
  const message = splitter.split(raw.subarray(0, MIME_LIMITS.messageLength).toString('latin1'), 0);
  return splitter.tooComplex ? undefined : message;
}

/** The parts that are no multiparts, in their order. */
export function leavesOf(part: MessagePart): MessagePart[] {
  return part.children.length === 0 ? [part] : part.children.flatMap(leavesOf);
}

class MessageSplitter {
  tooComplex = false;
  private parts = 0;
  private candidates = 0;

  split(text: string, depth: number): MessagePart {
    this.parts++;
    const { fields, rest, cut } = readMessageHeader(text);
    const contentType = readContentType(fields.first('content-type'));
    const boundary = contentType.parameters.get('boundary');
    const part = { fields, contentType, body: rest };
    this.tooComplex ||= cut || depth > MIME_LIMITS.depth || this.parts > MIME_LIMITS.parts;
    if (this.tooComplex || !boundary || !contentType.type.startsWith('multipart/')) return { ...part, children: [] };
    return { ...part, children: this.splitBody(rest, boundary, depth) };
  }

  private splitBody(body: string, boundary: string, depth: number): MessagePart[] {
    const children: MessagePart[] = [];
    let delimiter = this.findDelimiter(body, `--${boundary}`, 0);
    while (delimiter && !delimiter.closes && !this.tooComplex) {
      const next = this.findDelimiter(body, `--${boundary}`, delimiter.end);
      const content = body.slice(delimiter.end, next?.start);
      children.push(this.split(next ? withoutLineEnd(content) : content, depth + 1));
      delimiter = next;
    }
    return children;
  }

  /**
   * The next line that is the delimiter, with optional white space after it. Only the start of a delimiter is searched: searching
   * all of it takes body × boundary on a body that resembles it.
   */
  private findDelimiter(body: string, dashBoundary: string, from: number): Delimiter | undefined {
    const start = `\n${dashBoundary.slice(0, SEARCHED)}`;
    // The line end before `from` counts, unless the body starts there.
    const first = from === 0 && body.startsWith(dashBoundary) ? 0 : nextLine(body, start, from - 1);
    for (let at = first; at !== -1; at = nextLine(body, start, at)) {
      this.candidates += 1;
      this.tooComplex ||= this.candidates > MIME_LIMITS.candidates;
      if (this.tooComplex) return undefined;
      if (!body.startsWith(dashBoundary, at)) continue;
      const behind = at + dashBoundary.length;
      const tail = TAIL.exec(body.slice(behind, behind + 110));
      if (tail) return { start: at, end: behind + tail[0].length, closes: tail[1] !== undefined };
    }
    return undefined;
  }
}

interface Delimiter {
  readonly start: number;
  /** Position after its line. */
  readonly end: number;
  readonly closes: boolean;
}

const TAIL = /^(--)?[ \t\r]{0,100}(?:\n|$)/;

/** Characters of a delimiter that are searched for. */
const SEARCHED = 8;

/** Start of the next line with this prefix, the line end before it included; -1 when there is none. */
function nextLine(body: string, start: string, from: number): number {
  const lineEnd = body.indexOf(start, from);
  return lineEnd === -1 ? -1 : lineEnd + 1;
}

/** The line end before a delimiter belongs to the delimiter (RFC 2046 section 5.1.1). */
function withoutLineEnd(content: string): string {
  if (content.endsWith('\r\n')) return content.slice(0, -2);
  return content.endsWith('\n') ? content.slice(0, -1) : content;
}
