import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EVENT_LOOP } from '../../async/fair-turns';
import { SingleFlight } from '../../async/promises';
import { CONNECTION_TURNS } from '../../async/shared-turns';
import { opensPort, type PortVariable } from '../../network';
import { shareConnections } from '../../connection-shares';
import { readTarget } from '../request/request';
import { PipelinedRequests } from './pipelined-requests';

/** Text goes out as it is, anything else as JSON. */
export interface ProbeResponse {
  readonly status: number;
  readonly body: unknown;
  /** Of a text; JSON has its own. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `GET` paths and their responses, made for each request. */
export type ProbeRoutes = Readonly<Record<string, () => ProbeResponse | Promise<ProbeResponse>>>;

export interface ProbeServerOptions {
  /** How the operator sets the port. */
  readonly variable: PortVariable;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly routes: ProbeRoutes;
  /** For everything else. */
  readonly otherwise?: () => ProbeResponse;
}

export interface ProbeServer {
  readonly port: number;
  close(): Promise<void>;
}

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
const LIMITS = { headersTimeout: 5_000, requestTimeout: 5_000 };
/** More are closed at once; of one client, half of them. */
const MAX_CONNECTIONS = 500;
/** Monitors are one client. */
const PROBES = 'probes';
const NOT_FOUND: ProbeResponse = { status: 404, body: 'not found\n' };
const FAILED: ProbeResponse = { status: 500, body: 'the answer could not be made\n' };

/** Serves a few fixed paths for monitors, without a framework: in every role, and before there is an application. */
export async function startProbeServer(options: ProbeServerOptions): Promise<ProbeServer> {
  const { routes, otherwise = () => NOT_FOUND } = options;
  // Concurrent requests for a path share one response: metrics take some milliseconds.
  const responses = new SingleFlight<ProbeResponse>();
  const server = createServer(LIMITS, (request, response) => {
    readTarget(request);
    const { method, url = '' } = request;
    const path = url.split('?', 1)[0] ?? '';
    const route = method === 'GET' || method === 'HEAD' ? routeOf(routes, path) : undefined;
    PipelinedRequests.serve(request, response, () => {
      const key = route ? path : '';
      const making = responses.run(key, () => responseOf(route ?? otherwise));
      // Hundreds of connections may wait for the same one.
      void making.then((made) => CONNECTION_TURNS.run(PROBES, () => send(response, made, method === 'HEAD')));
    });
  });
  shareConnections(server, { maxConnections: MAX_CONNECTIONS, isInUse: PipelinedRequests.isServing });
  PipelinedRequests.of(server, () => PROBES);
  await open(server, options);
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

function routeOf(routes: ProbeRoutes, path: string): ProbeRoutes[string] | undefined {
  return Object.hasOwn(routes, path) ? routes[path] : undefined;
}

async function responseOf(route: ProbeRoutes[string]): Promise<ProbeResponse> {
  // Of several connections too, one response is made in a turn of the event loop.
  await EVENT_LOOP.next(PROBES);
  try {
    return await route();
  } catch {
    return FAILED;
  }
}

function send(response: ServerResponse, made: ProbeResponse, headOnly: boolean): void {
  const { status, body, contentType = 'text/plain', headers } = made;
  const [type, text] = typeof body === 'string' ? [contentType, body] : ['application/json', JSON.stringify(body)];
  const length = { 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, { ...HEADERS, ...headers, 'content-type': type, ...length });
  response.end(headOnly ? undefined : text);
}

function open(server: Server, { variable, host, port }: ProbeServerOptions): Promise<void> {
  const opening = new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return opensPort(variable, { host, port }, opening);
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
