import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { reset } from './reset-socket';
import { TEST_CERTIFICATE } from './tls-certificate';

/** The script of one connection; `connection` counts from 1. */
export type SmtpScript = (peer: ScriptedPeer, connection: number) => Promise<void>;

class PeerGone extends Error {}

/**
 * A server that sends exactly the bytes of the test's script, for hostile, split and false replies.
 *
 *     const server = await ScriptedSmtpServer.start(async (peer) => {
 *       await peer.greet(['PIPELINING']);
 *       await peer.expect('MAIL');
 *       peer.send('999 what\r\n');
 *     });
 *     … server.port … await server.stop();
 *
 * A script that ends leaves its connection open until `stop`, which fails with the first error of a script; a client
 * that disconnects ends the script without an error.
 */
export class ScriptedSmtpServer {
  connectionCount = 0;
  /** Bytes received on all connections, decrypted. */
  received = '';
  private readonly sockets = new Set<Socket>();
  private readonly errors: unknown[] = [];
  private readonly scripts: Promise<void>[] = [];

  private constructor(private readonly server: Server) {}

  static async start(script: SmtpScript): Promise<ScriptedSmtpServer> {
    const server = createServer();
    const scripted = new ScriptedSmtpServer(server);
    server.on('connection', (socket) => scripted.scripts.push(scripted.play(script, socket)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return scripted;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
    await Promise.all(this.scripts);
    if (this.errors.length > 0) throw this.errors[0];
  }

  private async play(script: SmtpScript, socket: Socket): Promise<void> {
    this.connectionCount += 1;
    this.sockets.add(socket);
    const peer = new ScriptedPeer(socket, (text) => (this.received += text));
    try {
      await script(peer, this.connectionCount);
    } catch (error) {
      if (!(error instanceof PeerGone)) this.errors.push(error);
    }
  }
}

/** The server's end of one connection. */
export class ScriptedPeer {
  private input = '';
  private isGone = false;
  private wake: (() => void) | undefined;
  private socket: Socket;

  constructor(
    socket: Socket,
    private readonly onText: (text: string) => void,
  ) {
    this.socket = socket;
    this.listen();
  }

  /** True once the client has ended or reset the connection. */
  get clientIsGone(): boolean {
    return this.isGone;
  }

  /** Writes at once; strings as Latin-1. False when the client does not keep up. */
  send(data: string | Buffer): boolean {
    return this.socket.write(typeof data === 'string' ? Buffer.from(data, 'latin1') : data);
  }

  /** Writes pieces that reach the client as separate chunks. */
  async sendPieces(pieces: readonly string[]): Promise<void> {
    for (const piece of pieces) {
      this.send(piece);
      await nextTurn();
      await nextTurn();
    }
  }

  /** Writes until the client disconnects, at the client's pace. */
  async sendForever(data: string): Promise<void> {
    while (!this.isGone) {
      this.send(data);
      await nextTurn();
    }
  }

  /** The next line, without its CRLF. */
  async line(): Promise<string> {
    return (await this.until('\r\n')).slice(0, -2);
  }

  /** Everything up to and including the marker. */
  async until(marker: string): Promise<string> {
    for (;;) {
      const end = this.input.indexOf(marker);
      if (end !== -1) {
        const text = this.input.slice(0, end + marker.length);
        this.input = this.input.slice(end + marker.length);
        return text;
      }
      if (this.isGone) throw new PeerGone();
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  /** Reads a line, which must begin with the text. */
  async expect(prefix: string): Promise<string> {
    const line = await this.line();
    if (!line.startsWith(prefix)) throw new Error(`The client said ${JSON.stringify(line)} instead of ${prefix}`);
    return line;
  }

  /** Sends the banner and replies to EHLO with these extensions. */
  async greet(offers: readonly string[] = []): Promise<void> {
    this.send('220 scripted\r\n');
    await this.hello(offers);
  }

  /** Replies to EHLO alone, as after STARTTLS. */
  async hello(offers: readonly string[] = []): Promise<void> {
    await this.expect('EHLO');
    const lines = ['scripted', ...offers];
    this.send(lines.map((line, index) => `250${index === lines.length - 1 ? ' ' : '-'}${line}\r\n`).join(''));
  }

  /** Accepts MAIL, RCPT and DATA, with the replies in one write; for clients that pipeline. */
  async grantEnvelope(): Promise<void> {
    await this.expect('MAIL');
    await this.expect('RCPT');
    await this.expect('DATA');
    this.send('250 ok\r\n250 ok\r\n354 go\r\n');
  }

  /** Takes one message whose MAIL has been read, one reply at a time. */
  async takeMail(): Promise<void> {
    this.send('250 ok\r\n');
    await this.expect('RCPT');
    this.send('250 ok\r\n');
    await this.expect('DATA');
    this.send('354 go on\r\n');
    await this.until('\r\n.\r\n');
    this.send('250 taken\r\n');
  }

  /** Continues as the server's side of TLS. */
  encrypt(): void {
    const { key, cert } = TEST_CERTIFICATE;
    this.socket.removeAllListeners('data');
    this.socket = new TLSSocket(this.socket, { isServer: true, key, cert });
    this.listen();
  }

  close(): void {
    this.socket.end();
  }

  reset(): void {
    reset(this.socket);
  }

  /** Bytes received and not read yet. */
  takeBuffered(): string {
    const text = this.input;
    this.input = '';
    return text;
  }

  /** Resolves when there is something to read. */
  async untilInput(): Promise<void> {
    while (this.input === '' && !this.isGone) await new Promise<void>((resolve) => (this.wake = resolve));
  }

  /** Stops reading, so that the client's bytes stay in the network buffers. */
  stopReading(): void {
    this.socket.pause();
  }

  /** Resolves when the client has ended the connection. */
  async untilGone(): Promise<void> {
    while (!this.isGone) await new Promise<void>((resolve) => (this.wake = resolve));
  }

  private listen(): void {
    this.socket.setNoDelay(true);
    this.socket.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1');
      this.input += text;
      this.onText(text);
      this.wake?.();
    });
    const gone = (): void => {
      this.isGone = true;
      this.wake?.();
    };
    this.socket.on('error', gone).on('end', gone).on('close', gone);
  }
}
