import type { Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { CONNECTION_TURNS, type SharedTurns } from '../async/shared-turns';
import { socketInTurns } from '../async/socket-turns';
import { shareUnseen } from '../connection-shares';
import { clientNetworkOf } from '../network';
import { SERVER_HANDSHAKES, SERVER_TLS } from '../tls/server-handshakes';
import { type Connection, correctCommands } from './command-rules';

type Parser = Exclude<Connection['_parser'], false>;
type Done = Parameters<Parser['_feedDataStream']>[1];

/** What a client may have sent before it reads that the connection ends. */
const MAX_UNHEARD_BYTES = 128 * 1024;

/**
 * The library's server, which reads DATA piece by piece, and commands of many clients in turns of the event loop. The library itself
 * takes a turn, and a buffer, for every dot at the start of a line: 24 MB of such lines took half a minute of the process's time and a
 * gigabyte. It also runs a hundred commands of each connection in a turn: 300 ms for a hundred clients.
 *
 * Connections are read and closed in turns until TLS begins, which it does in turns as well: 980 clients that sent their ClientHello at the
 * same moment held the event loop for 670 ms.
 */
export class BulkSmtpServer extends SMTPServer {
  private readonly tops = new WeakMap<Socket, Socket>();

  constructor(
    options: SMTPServerOptions,
    private readonly handshakes = SERVER_HANDSHAKES,
    protected readonly turns = CONNECTION_TURNS,
  ) {
    super({ ...SERVER_TLS, ...options });
    this.server.prependListener('connection', (socket) => {
      socketInTurns(socket, clientNetworkOf(socket.remoteAddress ?? ''), turns);
    });
    const { connections } = this;
    const add = connections.add.bind(connections);
    // The library adds a connection before it reads from it.
    connections.add = (connection) => {
      this.adopt(connection);
      return add(connection);
    };
  }

  /**
   * What to destroy to end a connection on which STARTTLS may have begun: Node can crash when a socket is destroyed from under TLS.
   * @param socket of the event `connection`
   */
  topOf(socket: Socket): Socket {
    return this.tops.get(socket) ?? socket;
  }

  /**
   * Bounds the connections, before listeners see them. To be called when all listeners are there.
   * @param isProven the client of a peer's connection is known: others give way
   */
  shareConnections(maxConnections: number, isProven: (peer: string) => boolean): void {
    const isInUse = (socket: Socket): boolean => isProven(peerOf(socket));
    shareUnseen(this.server, { maxConnections, isInUse, end: (socket) => void this.topOf(socket).destroy() });
  }

  /** TLS from the start. */
  override _upgrade(socket: Socket, callback: Parameters<SMTPServer['_upgrade']>[1]): void {
    this.handshakes.run(socket, () => {
      super._upgrade(socket, callback);
      return this._pendingSockets.get(socket) ?? socket;
    });
  }

  /** A new connection. */
  protected adopt(connection: Connection): void {
    this.upgradeInTurn(connection);
    this.endIdleInTurn(connection);
    correctCommands(connection);
    const create = connection._createParser.bind(connection);
    const adapt = (parser: Parser) => readInTurns(readInBulk(parser), connection.remoteAddress, this.turns);
    // STARTTLS starts with a new one.
    connection._createParser = () => adapt(create());
    if (connection._parser) adapt(connection._parser);
    const close = connection.close.bind(connection);
    connection.close = () => {
      const isHeard = !connection._closing && !connection._upgrading;
      close();
      if (isHeard) endAfter(MAX_UNHEARD_BYTES, connection._socket);
    };
  }

  /** Hundreds may have been idle for their time at the same moment. Those that have sent something by then go on. */
  private endIdleInTurn(connection: Connection): void {
    const end = connection._onTimeout.bind(connection);
    connection._onTimeout = () => {
      const { bytesRead } = connection._socket;
      void this.turns.next(clientNetworkOf(connection.remoteAddress)).then(() => {
        if (connection._socket.bytesRead === bytesRead) end();
        else connection._armTimeout();
      });
    };
  }

  /** STARTTLS. */
  private upgradeInTurn(connection: Connection): void {
    const upgrade = connection.upgrade.bind(connection);
    connection.upgrade = (callback, secured) => {
      const { _socket: socket, _parser: parser } = connection;
      // As the library does: from now on nothing is a command that comes, or came, in the clear.
      connection._upgrading = true;
      if (parser) {
        socket.unpipe(parser);
        parser.isClosed = true;
      }
      let top = socket;
      const arm = connection._armTimeout.bind(connection);
      // The library shows its TLS socket here only, until the handshake has ended.
      connection._armTimeout = (over = connection._socket) => {
        top = over;
        this.tops.set(socket, over);
        arm(over);
      };
      this.handshakes.run(socket, () => {
        if (!connection._closing) upgrade(callback, secured);
        return top;
      });
    };
  }
}

/** Names one connection, for the library's sessions and the sockets below them alike. */
export function peerOf({
  remoteAddress = '',
  remotePort = 0,
}: {
  remoteAddress?: string;
  remotePort?: number;
}): string {
  return `${remoteAddress.replace('::ffff:', '')} ${remotePort}`;
}

/** A client that sends on after the end is disconnected: reading from hundreds of them took a turn of 300 ms. */
function endAfter(bytes: number, socket: Connection['_socket']): void {
  let left = bytes;
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
}

/**
 * Makes a parser of `smtp-server` read message data in whole chunks instead of line by line. Returns the same parser.
 */
export function readInBulk(parser: Parser): Parser {
  parser._feedDataStream = (chunk, done) => feed(parser, chunk, done);
  return parser;
}

/**
 * Received bytes, and each command in them, wait when this turn of the event loop has no time left.
 * @param address of the client, whose network's connections share its turn
 */
export function readInTurns(parser: Parser, address: string, turns: SharedTurns = CONNECTION_TURNS): Parser {
  const holder = clientNetworkOf(address);
  const write = parser._write.bind(parser);
  parser._write = (chunk, encoding, done) => turns.run(holder, () => write(chunk, encoding, done));
  const oncommand = parser.oncommand.bind(parser);
  parser.oncommand = (command, done) => {
    turns.run(holder, () => {
      // Closed, or encrypted by now: commands from before do not count (RFC 3207 section 4.2).
      if (parser.isClosed) done?.();
      else oncommand(command, done);
    });
  };
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
/** The longest prefix of an end of data at the end of a piece: CR, LF, dot, CR. */
const HELD = 4;

/** The result of a piece of DATA (RFC 5321 section 4.5.2). */
export interface Unstuffed {
  /** Without the dots that are there for transparency only. */
  readonly content: Buffer;
  /** What follows the end of data; undefined while the data continues. */
  readonly rest: Buffer | undefined;
  /** To be put before the next piece. */
  readonly held: Buffer;
}

/**
 * Reads a piece of DATA at once, however many dots are in it. A line starts after every LF, but data ends with CRLF, dot, CRLF
 * only.
 * @param isFirst nothing of the message has been read before
 */
export function unstuff(piece: Buffer, isFirst: boolean): Unstuffed {
  if (isFirst && stands(EMPTY, piece, 0)) return ended(piece.subarray(0, 0), piece, EMPTY.length);
  // Skips a second dot, so that it ends nothing.
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

/** Copies nothing of a piece without removals. */
class Remover {
  private out: Buffer | undefined;
  private length = 0;

  constructor(
    private readonly bytes: Buffer,
    /** Position after the last byte that was removed. */
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
