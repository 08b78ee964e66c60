import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { selfSigned } from '../../src/common/tls/self-signed';

/** What a web server returns for a policy; `hang`: nothing. */
export type PolicyAnswer =
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: string }
  | 'hang';

/** The web servers of policies (RFC 8461), for all names that its certificate has, on loopback. */
export class PolicyWebServer {
  /** Requested names, in order. */
  readonly requests: string[] = [];
  /** By domain; 404 without one. */
  readonly answers = new Map<string, PolicyAnswer>();
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    /** To be trusted. */
    readonly certificate: string,
  ) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.serve(request, response));
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  /** @param domains that `mta-sts.` is put before */
  static async start(domains: readonly string[]): Promise<PolicyWebServer> {
    const pair = selfSigned(
      new Date(),
      domains.map((domain) => `mta-sts.${domain}`),
    );
    const server = createServer(pair).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PolicyWebServer(server, pair.cert);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Publishes a policy of these lines beside its version. */
  publish(domain: string, ...lines: string[]): void {
    this.answers.set(domain, { body: ['version: STSv1', ...lines, ''].join('\r\n') });
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    // `closeAllConnections` leaves those that are still in the TLS handshake, and their clients wait for as long as they may.
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private serve(request: IncomingMessage, response: ServerResponse): void {
    const domain = (request.headers.host ?? '').replace(/^mta-sts\.|:\d+$/g, '');
    this.requests.push(domain);
    const answer = this.answers.get(domain) ?? { status: 404 };
    if (answer === 'hang') return;
    const isThere = request.url === '/.well-known/mta-sts.txt';
    const { status = 200, headers = { 'content-type': 'text/plain; charset=utf-8' }, body = '' } = answer;
    response.writeHead(isThere ? status : 404, headers).end(body);
  }
}
