import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { opensPort } from '../network';

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly registry: Registry;
}

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves `GET /metrics` for Prometheus on a port of its own, away from clients; all else is 404. */
export async function startMetricsServer({ host, port, registry }: MetricsServerOptions): Promise<MetricsServer> {
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, (request, response) => {
    const answer = (status: number, type: string, body: string): void => {
      response.writeHead(status, { ...HEADERS, 'content-type': type }).end(body);
    };
    if (request.method !== 'GET' || request.url !== '/metrics') {
      answer(404, 'text/plain', 'not found\n');
      return;
    }
    registry.metrics().then(
      (text) => answer(200, registry.contentType, text),
      () => answer(500, 'text/plain', 'metrics could not be collected\n'),
    );
  });
  const opening = new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  await opensPort('METRICS_PORT', { host, port }, opening);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
