import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { SMTPServer } from 'smtp-server';

type Connection = SMTPServer['connections'] extends Set<infer Known> ? Known : never;
type Parser = Exclude<Connection['_parser'], false>;
type Done = Parameters<Parser['_feedDataStream']>[1];

/**
 * The library's server, which reads DATA piece by piece. The library itself takes a turn of the event loop, and a buffer, for every dot at
 * the beginning of a line: 24 MB of such lines took half a minute of the process's time and a gigabyte.
 */
export class BulkSmtpServer extends SMTPServer {
  override connect(...[socket, options]: [Socket | TLSSocket, Parameters<SMTPServer['connect']>[1]?]): void {
    const known = new Set(this.connections);
    super.connect(socket, options);
    for (const connection of this.connections) if (!known.has(connection)) this.adopt(connection);
  }

  /** A new connection. */
  protected adopt(connection: Connection): void {
    const create = connection._createParser.bind(connection);
    // STARTTLS begins with a new one.
    connection._createParser = () => readInBulk(create());
    if (connection._parser) readInBulk(connection._parser);
  }
}

export function readInBulk(parser: Parser): Parser {
  parser._feedDataStream = (chunk, done) => feed(parser, chunk, done);
  return parser;
}

function feed(parser: Parser, chunk: Buffer, done: Done): void {
  const before = parser._lastBytes;
  const piece = before && before.length > 0 ? Buffer.concat([before, chunk]) : chunk;
  const { content, rest, held } = unstuff(piece, parser._atDataStart);
  // The first of two dots is part of the message too.
  if (held.length < piece.length) parser._atDataStart = false;
  parser._countDataBytes(content.length);
  parser._lastBytes = rest ? false : held;
  if (rest) parser._endDataMode(content, rest, done);
  else pass(parser, content, done);
}

/** A stream that its reader has destroyed never drains, it only closes. */
function pass({ _dataStream: stream }: Parser, content: Buffer, done: Done): void {
  if (!stream || content.length === 0 || !stream.writable || stream.write(content) || stream.destroyed) return done();
  const goOn = (): void => {
    stream.off('drain', goOn).off('close', goOn);
    done();
  };
  stream.on('drain', goOn).on('close', goOn);
}

const [LF, DOT] = [0x0a, 0x2e];
const END = Buffer.from('\r\n.\r\n');
/** The end of data that holds nothing. */
const EMPTY = Buffer.from('.\r\n');
const TWO_DOTS = Buffer.from('..');
/** The longest beginning of an end of data that a piece may end with: CR, LF, dot, CR. */
const HELD = 4;

/** What a piece of DATA says (RFC 5321 section 4.5.2). */
export interface Unstuffed {
  /** Without the dots that are there for transparency only. */
  readonly content: Buffer;
  /** What follows the end of data; undefined while it goes on. */
  readonly rest: Buffer | undefined;
  /** To be put before the next piece. */
  readonly held: Buffer;
}

/**
 * Reads a piece of DATA at once, however many dots are in it. A line begins behind every LF, but data ends with CRLF, dot, CRLF
 * only.
 * @param isFirst nothing of the message has been read before
 */
export function unstuff(piece: Buffer, isFirst: boolean): Unstuffed {
  if (isFirst && stands(EMPTY, piece, 0)) return ended(piece.subarray(0, 0), piece, EMPTY.length);
  // A second dot is not looked at again, so that it ends nothing.
  const out = new Remover(piece, isFirst && stands(TWO_DOTS, piece, 0) ? 1 : 0);
  for (let at = out.from + 2; at < piece.length - 2; at += 1) {
    if (piece[at] !== DOT || piece[at - 1] !== LF) continue;
    if (stands(END, piece, at - 2)) return ended(out.take(at), piece, at + 3);
    if (piece[at + 1] === DOT) out.remove(at);
  }
  const end = Math.max(out.from, piece.length - HELD);
  return { content: out.take(end), rest: undefined, held: piece.subarray(end) };
}

function stands(text: Buffer, piece: Buffer, at: number): boolean {
  return text.every((byte, index) => piece[at + index] === byte);
}

function ended(content: Buffer, piece: Buffer, end: number): Unstuffed {
  return { content, rest: piece.subarray(end), held: piece.subarray(end, end) };
}

/** Copies nothing of a piece of which nothing is removed. */
class Remover {
  private out: Buffer | undefined;
  private length = 0;

  constructor(
    private readonly bytes: Buffer,
    /** Behind the last byte that was removed. */
    public from: number,
  ) {}

  remove(at: number): void {
    this.out ??= Buffer.allocUnsafe(this.bytes.length);
    this.length += this.bytes.copy(this.out, this.length, this.from, at);
    this.from = at + 1;
  }

  /** All that is left up to there. */
  take(end: number): Buffer {
    if (!this.out) return this.bytes.subarray(this.from, end);
    const length = this.length + this.bytes.copy(this.out, this.length, this.from, end);
    return this.out.subarray(0, length);
  }
}
