import { isUtf8 } from 'node:buffer';

/** One reply of the remote side, complete and printable. */
export interface SmtpReply {
  /** 200–599. */
  readonly code: number;
  /** Enhanced status code (RFC 3463, RFC 2034), when one is given and agrees with `code`. */
  readonly enhancedCode?: string;
  /** The text of each line, without code and separator; printable characters of the Basic Multilingual Plane only. */
  readonly lines: readonly string[];
}

/** RFC 5321 section 4.5.3.1.5 allows 512 octets; real servers exceed it. */
export const MAX_LINE_BYTES = 2_048;
export const MAX_REPLY_LINES = 100;
export const MAX_REPLY_BYTES = 65_536;
/** Of a line that is no part of a reply; it is shown, so that its cause can be found. */
const MAX_SHOWN = 100;

/** The last line as it came, with its code. */
export function lastLine(reply: SmtpReply): string {
  return `${reply.code} ${reply.lines.at(-1) ?? ''}`.trimEnd();
}

/** All lines as they came: `550-first`, `550 last`. */
export function wholeLines(reply: SmtpReply): string[] {
  const { code, lines } = reply;
  return [...lines.slice(0, -1).map((line) => `${code}-${line}`.trimEnd()), lastLine(reply)];
}

/** True for 2xx. */
export function isPositive(reply: SmtpReply): boolean {
  return reply.code < 300;
}

/** True for 4xx and 5xx. */
export function isNegative(reply: SmtpReply): boolean {
  return reply.code >= 400;
}

const LF = 0x0a;
const UNPRINTABLE = /[^\x20-\x7e]/;
const ENHANCED_CODE = /^([245]\.\d{1,3}\.\d{1,3})(?: |$)/;

/**
 * Incremental reader of replies (RFC 5321 section 4.2), safe against any input: never throws, memory bounded by the
 * three limits above.
 *
 * States: between replies → within a reply (a line with `-` was read) → between replies …; any violation is final:
 * it is kept in `violation` and all further input is dropped.
 *
 * A line ends at LF, with or without CR before it: some appliances send bare LF, and accepting it in *replies* is
 * harmless, since a line more than was asked for is an unsolicited reply, which ends the connection. All lines of a
 * reply must have one code, as the RFC demands: guessing which one counts could turn a refusal into a delivery.
 */
export class SmtpReplyParser {
  /** Why the input is not a sequence of replies, with the beginning of the line that shows it; set once. */
  violation: string | undefined;
  private partial = '';
  private lines: string[] = [];
  private code = 0;
  private bytes = 0;

  /** True when no byte of a reply is waiting for the rest of it. */
  get isBetweenReplies(): boolean {
    return this.partial === '' && this.lines.length === 0;
  }

  /** Takes the next bytes and returns the replies that they complete. */
  push(chunk: Buffer): SmtpReply[] {
    const replies: SmtpReply[] = [];
    let start = 0;
    while (this.violation === undefined) {
      const end = chunk.indexOf(LF, start);
      if (end === -1) break;
      const line = this.partial + chunk.toString('latin1', start, end);
      this.partial = '';
      start = end + 1;
      const reply = this.takeLine(line);
      if (reply !== undefined) replies.push(reply);
    }
    this.keepRest(chunk, start);
    return replies;
  }

  private keepRest(chunk: Buffer, start: number): void {
    if (this.violation !== undefined || start === chunk.length) return;
    const isTooLong = this.partial.length + chunk.length - start > MAX_LINE_BYTES;
    this.partial += chunk.toString('latin1', start, start + MAX_LINE_BYTES);
    if (isTooLong) this.violate('reply line too long', this.partial);
  }

  private takeLine(raw: string): SmtpReply | undefined {
    this.bytes += raw.length + 1;
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    const code = codeOf(line);
    const problem = this.problemOf(raw, code);
    if (problem !== undefined) return this.violate(problem, line);
    this.code = code;
    this.lines.push(readable(line.slice(4)));
    return line.charCodeAt(3) === 0x2d ? undefined : this.complete();
  }

  private problemOf(raw: string, code: number): string | undefined {
    if (raw.length > MAX_LINE_BYTES) return 'reply line too long';
    if (code === 0) return 'not a reply line';
    if (this.lines.length > 0 && code !== this.code) return 'reply lines with different codes';
    if (this.lines.length >= MAX_REPLY_LINES) return 'reply with too many lines';
    if (this.bytes > MAX_REPLY_BYTES) return 'reply too large';
    return undefined;
  }

  private complete(): SmtpReply {
    const { code, lines } = this;
    this.lines = [];
    this.bytes = 0;
    const enhancedCode = enhancedCodeOf(code, lines[0] ?? '');
    return enhancedCode === undefined ? { code, lines } : { code, enhancedCode, lines };
  }

  private violate(problem: string, line: string): undefined {
    this.violation = `${problem}: "${readable(line.slice(0, MAX_SHOWN))}"`;
    this.partial = '';
    this.lines = [];
  }
}

/** The code of a line, or 0: three digits from 200 to 599, then space, hyphen or nothing. */
function codeOf(line: string): number {
  const separator = line.charCodeAt(3);
  if (line.length > 3 && separator !== 0x20 && separator !== 0x2d) return 0;
  const hundreds = digitAt(line, 0);
  const tens = digitAt(line, 1);
  const units = digitAt(line, 2);
  if (!(hundreds >= 2 && hundreds <= 5 && tens >= 0 && units >= 0)) return 0;
  return hundreds * 100 + tens * 10 + units;
}

/** Negative for anything but a digit, past the end of the line too (where it is no number at first). */
function digitAt(line: string, index: number): number {
  const digit = line.charCodeAt(index) - 0x30;
  return digit <= 9 ? digit : -1;
}

/** RFC 2034 section 4: the class must agree with the reply code, otherwise it is ordinary text. */
function enhancedCodeOf(code: number, line: string): string | undefined {
  const found = ENHANCED_CODE.exec(line)?.[1];
  return found?.startsWith(String(code).charAt(0)) ? found : undefined;
}

/** Controls, spaces of other kinds, what reorders text, and characters of two code units, which a limit of length could halve. */
const UNFIT = /[\u{10000}-\u{10ffff}]|[^\x20-\x7e\p{L}\p{M}\p{N}\p{P}\p{S}]/gu;

/**
 * A line as its author wrote it. Servers explain refusals in their own language, in UTF-8 (RFC 6531 section 3.7.4.2); bytes of another
 * character set become question marks.
 * @param line one character a byte
 */
function readable(line: string): string {
  if (!UNPRINTABLE.test(line)) return line;
  const bytes = Buffer.from(line, 'latin1');
  return isUtf8(bytes) ? bytes.toString().replace(/\t/g, ' ').replace(UNFIT, '?') : printable(line);
}

/** Remote text ends up in logs, events and terminals: controls, NUL and non-ASCII become question marks. */
export function printable(text: string): string {
  return UNPRINTABLE.test(text) ? text.replace(/\t/g, ' ').replace(/[^\x20-\x7e]/g, '?') : text;
}
