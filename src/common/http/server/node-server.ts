import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { EVENT_LOOP } from '../../async/fair-turns';
import { SECOND } from '../../clock';
import { clientNetworkOf } from '../../network';
import type { RequestSpan } from '../../tracing/tracing';
import { AppError } from '../../errors/app-error';
import { startRequest } from '../../tenant';
import { shareConnections } from '../../connection-shares';
import type { Draining } from './draining';
import type { expressMessages, StandardHeaders } from '../request/express-messages';
import { sendRefusal } from '../responses/error-page';
import { PipelinedRequests } from './pipelined-requests';
import { refuseConnect, refuseRequest, refuseUnparsed, refuseUnrouted } from './raw-refusals';
import { releaseBody } from '../request/request-body';
import { lineOf, type LogRequest, readTarget, requestIdOf } from '../request/request';

/** A client that still sends a body after its response is cut off. */
const UNREAD_BODY_MS = 2 * SECOND;
const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT';

export interface NodeServerOptions {
  readonly maxHeaderBytes: number;
  readonly maxRequestsPerSocket: number;
  /** More are closed at once, or idle ones give way; of one client, half of them. */
  readonly maxConnections: number;
  readonly headersTimeoutMs: number;
  /** For headers and body to arrive; not for the response. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly connectionsCheckingIntervalMs: number;
  readonly draining: Draining;
  /** Paths that are served while draining: the probes that report it. */
  readonly servedWhileDraining: string;
  /** Whether statements of requests keep to their tenant. */
  readonly tenantScopes: boolean;
  /** Called once per request, when its response is complete or its connection closed. */
  readonly log: LogRequest;
  /** Starts the span of a request, from its `traceparent`; undefined when its trace is not sampled. */
  readonly startSpan?: (traceParent: string | undefined) => RequestSpan | undefined;
}

interface Parts {
  readonly options: NodeServerOptions;
  readonly headers: StandardHeaders;
  readonly messages: ReturnType<typeof expressMessages>;
  /** Serves what is admitted. */
  readonly serve: (request: Request, response: Response) => void;
}

/**
 * Node's HTTP server with its limits. It refuses what should not reach Express: malformed HTTP, more requests than a
 * connection may have, new requests while the process stops.
 */
export function createNodeServer(parts: Parts): Server {
  const { options, messages } = parts;
  const raw = { headers: parts.headers, log: options.log };
  const server = createServer({
    ...messages,
    maxHeaderSize: options.maxHeaderBytes,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: options.keepAliveTimeoutMs,
    connectionsCheckingInterval: options.connectionsCheckingIntervalMs,
    // Checked in refuseRequest, whose refusal has the envelope.
    requireHostHeader: false,
  });
  shareConnections(server, { maxConnections: options.maxConnections, isInUse: PipelinedRequests.isServing });
  PipelinedRequests.of(server, (socket) => clientNetworkOf(socket.remoteAddress ?? ''));
  const inTurn = (request: Request, response: ServerResponse, serve: typeof receive): void =>
    PipelinedRequests.serve(request, response, () => serve(request, response as Response, parts));
  server.on('request', (request, response) => inTurn(asExpress(request), response, receive));
  server.on('checkContinue', (request, response) => {
    const awaiting = asExpress(request);
    // Sent when the body is really wanted, after all that can refuse it unseen.
    awaiting.awaitsContinue = true;
    inTurn(awaiting, response, receive);
  });
  server.on('checkExpectation', (request, response) => {
    inTurn(asExpress(request), response, refuseExpectation);
  });
  server.on('connect', (_request, socket) => refuseConnect(socket, raw));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code !== TIMED_OUT) return refuseUnparsed(error, socket, raw);
    // Node finds thousands of slow clients in one turn.
    void EVENT_LOOP.next(TIMED_OUT).then(() => refuseUnparsed(error, socket, raw));
  });
  return server;
}

function refuseExpectation(request: Request, response: Response, { options }: Parts): void {
  const refusal = new AppError('expectation_failed', 'Only 100-continue can be expected');
  refuseUnrouted(identify(request), response, refusal, options.log);
  cutOffLater(request);
}

function receive(request: Request, response: Response, { options, serve }: Parts): void {
  identify(request);
  readTarget(request);
  if (countOn(request.socket) >= options.maxRequestsPerSocket) response.setHeader('connection', 'close');
  const refusal = refuseRequest(request);
  if (refusal) {
    refuseUnrouted(request, response, refusal, options.log);
    cutOffLater(request);
    return;
  }
  const { draining } = options;
  const isProbe = request.url.startsWith(options.servedWhileDraining);
  draining.enter();
  response.once('close', () => settle(request, response, options));
  // Announced: a proxy that holds connections for its next requests would send one into their end.
  if (draining.announced) response.setHeader('connection', 'close');
  if (draining.active && !isProbe) {
    sendRefusal(request, response, draining.refusal());
    return;
  }
  if (options.startSpan && !isProbe) request.span = options.startSpan(traceParentOf(request));
  if (!options.tenantScopes) return serve(request, response);
  const closed = new Promise((resolve) => response.once('close', resolve));
  startRequest(request, closed, () => serve(request, response));
}

function traceParentOf({ headers: { traceparent } }: Request): string | undefined {
  return typeof traceparent === 'string' ? traceparent : undefined;
}

/** Our message classes are those that Express expects. */
function asExpress(request: IncomingMessage): Request {
  return request as Request;
}

function identify(request: Request): Request {
  request.id = requestIdOf(request);
  request.startedAtMs = performance.now();
  return request;
}

function settle(request: Request, response: Response, { draining, log }: NodeServerOptions): void {
  draining.leave();
  // A body that its client did not send to its end is not handed on.
  if (!request.readableEnded) releaseBody(request);
  if (!request.complete) cutOffLater(request);
  const line = lineOf(request, response);
  request.span?.end(line);
  log(line);
}

function cutOffLater(request: Request): void {
  const timer = setTimeout(() => {
    if (!request.complete) request.socket.destroy();
  }, UNREAD_BODY_MS).unref();
  // Of the request, not of its connection, which may serve many more.
  request.once('close', () => clearTimeout(timer));
}

const served = Symbol('requests served');

/**
 * Node's own limit sends "close" but keeps the connection open, and then sends an empty 503 to a client that continues.
 * @returns the number of requests on this connection, this one included.
 */
function countOn(socket: Socket & { [served]?: number }): number {
  const count = (socket[served] ?? 0) + 1;
  socket[served] = count;
  return count;
}
