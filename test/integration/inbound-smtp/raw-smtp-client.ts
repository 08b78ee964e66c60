import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

const COMPLETE_REPLY = /^(?:\d{3}-[^\n]*\r\n)*\d{3}(?: [^\n]*)?\r\n/;

/** An SMTP client that sends bytes as they are and reads one reply at a time. */
export class RawSmtpClient {
  private received = '';
  private closed = false;
  /** What the socket is under, once it is encrypted. */
  private over: TLSSocket | undefined;
  private wake: () => void = () => undefined;

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk) => {
      this.received += chunk.toString();
      this.wake();
    });
    // The server may cut the connection while the test still writes; the end is what counts.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
      this.wake();
    });
  }

  /** A connection whose greeting has not been read. */
  static open(port: number, from = '127.0.0.1'): Promise<RawSmtpClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: from });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new RawSmtpClient(socket)));
    });
  }

  /** A connection that has said EHLO. */
  static async greeted(port: number, from?: string): Promise<RawSmtpClient> {
    const client = await RawSmtpClient.open(port, from);
    await client.reply();
    await client.command('EHLO client.example');
    return client;
  }

  /** The same connection over TLS, after the reply 220 to STARTTLS. */
  async secured(): Promise<RawSmtpClient> {
    // From here on the socket belongs to TLS: what it reads, and its end.
    this.socket.removeAllListeners('data');
    const socket: TLSSocket = connectTls({ socket: this.socket, rejectUnauthorized: false });
    this.over = socket;
    await new Promise((resolve, reject) => {
      socket.once('error', reject).once('secureConnect', resolve);
    });
    return new RawSmtpClient(socket);
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes);
    return this;
  }

  /** The next reply, all its lines, without the last line end. */
  async reply(): Promise<string> {
    for (;;) {
      const [reply] = COMPLETE_REPLY.exec(this.received) ?? [];
      if (reply !== undefined) {
        this.received = this.received.slice(reply.length);
        return reply.trimEnd();
      }
      if (this.closed) throw new Error(`Closed without a complete reply, only: ${JSON.stringify(this.received)}`);
      await this.change();
    }
  }

  command(line: string): Promise<string> {
    return this.send(`${line}\r\n`).reply();
  }

  /** What has come and was not read as a reply. */
  get unread(): string {
    return this.received;
  }

  /** Resolves when the server has closed the connection. */
  async untilClosed(): Promise<string> {
    while (!this.closed) await this.change();
    return this.received;
  }

  close(): void {
    (this.over ?? this.socket).destroy();
  }

  /** The end comes first when the server has gone: `untilClosed` and `reply` may wait at once, one at a time. */
  private change(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}
