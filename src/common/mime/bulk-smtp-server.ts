import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { SMTPServer } from 'smtp-server';
import { unstuff } from './dot-unstuffing';

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
