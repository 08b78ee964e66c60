import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const HOST = '127.0.0.1';
/** A server that has said nothing for so long is left: what counts is how it is afterwards. */
const PATIENCE_MS = 60;
/** Until its first word, where it speaks first. */
const FIRST_PATIENCE_MS = 2_000;

export interface Exchange {
  /** The server speaks first, and is waited for. */
  readonly isGreeted?: boolean;
  readonly patienceMs?: number;
}

/**
 * Sends bytes over a connection of their own; returns what came back. Never throws. What the bytes say ends the connection, or
 * patience: a half-closed connection would not be read or get replies after the first look-up.
 */
export function exchangeBytes(
  port: number,
  bytes: Buffer,
  { isGreeted = false, patienceMs = PATIENCE_MS }: Exchange = {},
) {
  return new Promise<string>((resolve) => {
    const socket = connect({ port, host: HOST, allowHalfOpen: true });
    let received = '';
    socket.setTimeout(isGreeted ? FIRST_PATIENCE_MS : patienceMs, () => socket.destroy());
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      socket.setTimeout(patienceMs);
    });
    if (isGreeted) socket.once('data', () => socket.write(bytes));
    else socket.write(bytes);
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('close', () => resolve(received));
  });
}

/** Sends one datagram, to which nothing need come back. */
export async function sendDatagram(port: number, bytes: Buffer): Promise<void> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.send(bytes, port, HOST, () => resolve()));
  socket.close();
}

/** A server that says something whenever its client does, whatever that was, and then closes. */
export class HostileSmtpServer {
  private turns: readonly Buffer[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<HostileSmtpServer> {
    const server = createServer();
    const hostile = new HostileSmtpServer(server);
    server.on('connection', (socket) => hostile.play(socket));
    server.listen(0, HOST);
    await once(server, 'listening');
    return hostile;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The replies for the next client, turn by turn. */
  say(script: Buffer): void {
    this.turns = script
      .toString('latin1')
      .split(/\r?\n?\\TURN\r?\n?/)
      .map((turn) => Buffer.from(`${turn}\r\n`, 'latin1'));
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private play(socket: Socket): void {
    const left = [...this.turns];
    const speak = () => {
      const turn = left.shift();
      if (turn === undefined) socket.end();
      else socket.write(turn);
    };
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', speak);
    speak();
  }
}

/** A name server that replies to every query with the same bytes after its id. */
export class HostileDnsServer {
  private constructor(
    private readonly socket: DatagramSocket,
    private answer = Buffer.alloc(0),
  ) {}

  static async start(): Promise<HostileDnsServer> {
    const socket = createSocket('udp4');
    const server = new HostileDnsServer(socket);
    socket.on('message', (query, { port }) => {
      const question = query.subarray(12);
      const answer = server.answer.toString('latin1').replace('\\QUESTION', () => question.toString('latin1'));
      socket.send(Buffer.concat([query.subarray(0, 2), Buffer.from(answer, 'latin1')]), port, HOST);
    });
    socket.bind(0, HOST);
    await once(socket, 'listening');
    return server;
  }

  get endpoint(): string {
    return `${HOST}:${this.socket.address().port}`;
  }

  /** @param answer without the id; `\QUESTION` stands for the question */
  say(answer: Buffer): void {
    this.answer = Buffer.from(answer);
  }

  stop(): void {
    this.socket.close();
  }
}
