import { connect, type Socket } from 'node:net';

export interface RawResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** An HTTP/1.1 request text with Host and the blank line; lines are joined with CRLF. */
export function request(requestLine: string, headers: readonly string[] = [], body = ''): string {
  return [`${requestLine} HTTP/1.1`, 'Host: x', ...headers, '', body].join('\r\n');
}

/** A POST of a JSON text with its length. */
export function post(path: string, body: string | Buffer, headers: readonly string[] = []): Buffer {
  const head = request(`POST ${path}`, [
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ]);
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

/**
 * A client that sends bytes as they are and reads responses as they come, so that nothing between the test and the server
 * mends or refuses what is sent.
 */
export class RawClient {
  private received = '';
  private closed = false;
  private wake: () => void = () => undefined;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk) => {
      this.received += chunk.toString('latin1');
      this.wake();
    });
    // The server may cut the connection while the test still writes; the end is what counts.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
      this.wake();
    });
  }

  static connect(port: number, localAddress = '127.0.0.1'): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new RawClient(socket)));
    });
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes);
    return this;
  }

  /** The next response. @param toHead a response to HEAD has a length but no body */
  async next(toHead = false): Promise<RawResponse> {
    for (;;) {
      const response = this.take(toHead);
      if (response) return response;
      if (this.closed) throw new Error(`Closed without a complete response, only: ${JSON.stringify(this.received)}`);
      await this.change();
    }
  }

  /** Resolves when the server has closed the connection, with what it sent meanwhile. */
  async untilClosed(): Promise<string> {
    while (!this.closed) await this.change();
    return this.received;
  }

  close(): void {
    this.socket.destroy();
  }

  private change(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }

  private take(toHead: boolean): RawResponse | undefined {
    const end = this.received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const [statusLine = '', ...fields] = this.received.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(fields.map(splitField));
    const length = toHead ? 0 : Number(headers['content-length'] ?? 0);
    const body = this.received.slice(end + 4, end + 4 + length);
    if (body.length < length) return undefined;
    this.received = this.received.slice(end + 4 + length);
    return { status: Number(statusLine.split(' ')[1]), headers, body: Buffer.from(body, 'latin1').toString() };
  }
}

/** One exchange on a connection of its own. */
export async function exchange(port: number, bytes: string | Buffer, toHead = false): Promise<RawResponse> {
  const client = await RawClient.connect(port);
  try {
    return await client.send(bytes).next(toHead);
  } finally {
    client.close();
  }
}

function splitField(field: string): [string, string] {
  const colon = field.indexOf(':');
  return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
}
