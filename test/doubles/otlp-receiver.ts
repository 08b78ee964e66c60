import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as OTLP/HTTP carries it in JSON (opentelemetry.io/docs/specs/otlp). */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

interface ExportRequest {
  readonly resourceSpans: {
    readonly resource: { readonly attributes: ReceivedSpan['attributes'] };
    readonly scopeSpans: { readonly spans: ReceivedSpan[] }[];
  }[];
}

/** A collector on 127.0.0.1 that keeps what it is sent. */
export class OtlpReceiver {
  readonly requests: { path: string; contentType: string; body: Buffer }[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<OtlpReceiver> {
    const server = createServer();
    const receiver = new OtlpReceiver(server);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const contentType = request.headers['content-type'] ?? '';
        receiver.requests.push({ path: request.url ?? '', contentType, body: Buffer.concat(chunks) });
        response.writeHead(200, { 'content-type': contentType }).end(contentType.includes('json') ? '{}' : undefined);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Of those that came as JSON. */
  exports(): ExportRequest['resourceSpans'] {
    const bodies = this.requests.filter(({ contentType }) => contentType.includes('json'));
    return bodies.flatMap(({ body }) => (JSON.parse(body.toString()) as ExportRequest).resourceSpans);
  }

  spans(traceId: string): ReceivedSpan[] {
    const all = this.exports().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
    return all.filter((span) => span.traceId === traceId);
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}
