import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TEST_CERTIFICATE } from './tls-certificate';

export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly content: Buffer;
}

/**
 * A status with headers, or: no response, a byte at a time (the body or the head as well), an endless body, endless interim
 * answers or empty lines before one, a change to another protocol, no HTTP.
 */
export type ReceiverAnswer =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | 'hang'
  | 'drip'
  | 'drip-head'
  | 'flood'
  | 'interim-flood'
  | 'line-flood'
  | 'upgrade'
  | 'garbage'
  | 'reset';

const DRIP_MS = 20;
const FLOOD = Buffer.alloc(65_536);
const INTERIM_FLOOD = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(2_000);
const LINE_FLOOD = '\r\n'.repeat(1_048_576);

/** A webhook receiver on loopback that stores the requests and replies with `answer`. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  /** Peak number of open requests. */
  mostOpen = 0;
  private open = 0;
  private readonly timers = new Set<NodeJS.Timeout>();

  private constructor(
    private readonly server: Server,
    private readonly isSecure: boolean,
    public answer: (webhook: ReceivedWebhook) => ReceiverAnswer | Promise<ReceiverAnswer>,
  ) {}

  static async start(
    answer: ReceiverAnswer = { status: 200 },
    { tls = false, port = 0, host = '127.0.0.1' } = {},
  ): Promise<WebhookReceiver> {
    const server = tls ? createSecureServer(TEST_CERTIFICATE) : createServer();
    const receiver = new WebhookReceiver(server, tls, () => answer);
    server.on(
      'request',
      (request: IncomingMessage, response: ServerResponse) => void receiver.serve(request, response),
    );
    server.listen(port, host);
    await once(server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  url(path = '/hook', host = (this.server.address() as AddressInfo).address): string {
    return `${this.isSecure ? 'https' : 'http'}://${host}:${this.port}${path}`;
  }

  /** The `data` of the received webhooks. */
  events(): Record<string, any>[] {
    return this.received.map(({ body }) => JSON.parse(body).data);
  }

  async stop(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.open += 1;
    this.mostOpen = Math.max(this.mostOpen, this.open);
    response.once('close', () => (this.open -= 1));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const content = Buffer.concat(chunks);
    const webhook = { path: request.url ?? '', headers: request.headers, body: content.toString('utf8'), content };
    this.received.push(webhook);
    this.reply(await this.answer(webhook), response);
  }

  private reply(answer: ReceiverAnswer, response: ServerResponse): void {
    const { socket } = response;
    switch (answer) {
      case 'hang':
        return;
      case 'reset':
        socket?.destroy();
        return;
      case 'garbage':
        socket?.end('this is not HTTP\r\n\r\n');
        return;
      case 'flood':
        response
          .writeHead(200)
          .on('drain', () => response.write(FLOOD))
          .write(FLOOD);
        return;
      case 'interim-flood':
        return pour(socket, INTERIM_FLOOD);
      case 'line-flood':
        return pour(socket, LINE_FLOOD);
      case 'upgrade':
        socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
        return;
      case 'drip':
        response.writeHead(200).flushHeaders();
        this.drip(() => response.write('.'), response);
        return;
      case 'drip-head':
        socket?.write('HTTP/1.1 200 OK\r\nx-slow: ');
        this.drip(() => socket?.write('.'), response);
        return;
      default:
        response.writeHead(answer.status, answer.headers).end(answer.body ?? 'thank you');
    }
  }

  private drip(write: () => unknown, response: ServerResponse): void {
    const timer = setInterval(write, DRIP_MS);
    this.timers.add(timer);
    response.once('close', () => clearInterval(timer));
  }
}

/** As fast as the client reads, until the client ends it. */
function pour(socket: Socket | null, text: string): void {
  socket?.on('error', () => undefined).on('drain', () => socket.write(text));
  socket?.write(text);
}
