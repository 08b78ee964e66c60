import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SECOND } from '../clock';
import { AppError } from '../errors/app-error';
import { lineOf, type LogRequest } from './access-log';
import { MIB } from './body-options';
import { BodyBudget, postponeContinue } from './body-reader';
import { Draining } from './draining';
import { errorHandler, type ErrorTranslator } from './error-filter';
import { sendError, toAppError } from './error-response';
import { acceptJsonBodies } from './json-body';
import { answerConnect, answerParserError, answerRaw, refuseRequest } from './raw-refusals';
import { REQUEST_FIELDS } from './request';
import { requestIdOf } from './request-id';
import { rawHeaders, responseHeadersHook } from './response-headers';
import { UnknownRoutes } from './unknown-route';

/** The longest path parameter is the token of a tracked link: 2,723 characters. */
const MAX_PARAM_LENGTH = 3_000;
/** A client that still sends a body after its answer is cut off. */
const UNREAD_BODY_MS = 2 * SECOND;

export interface HttpServerOptions {
  /** Whose `X-Forwarded-For` is believed: nobody's, everybody's, or that of these addresses and networks. */
  readonly trustProxy: boolean | string[];
  /** Bytes of bodies above 256 KiB held at a time; more large requests are answered 503. */
  readonly maxHeldBodyBytes: number;
  readonly maxHeaderBytes: number;
  readonly maxRequestsPerSocket: number;
  /** More are closed at once. */
  readonly maxConnections: number;
  readonly headersTimeoutMs: number;
  /** For headers and body to arrive; not for the answer. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly connectionsCheckingIntervalMs: number;
  /** Adds Strict-Transport-Security: when clients reach the service over https. */
  readonly strictTransport: boolean;
  readonly draining: Draining;
  /** Paths that are served while draining: the probes that tell of it. */
  readonly servedWhileDraining: string;
  /** Called once per request, when its response is complete or its connection gone. */
  readonly log: LogRequest;
  readonly translateError: ErrorTranslator;
  /** Refuses a request before its body is read, for instance one that cannot have a valid key. */
  readonly gate: (request: FastifyRequest) => AppError | undefined;
}

const DEFAULTS: HttpServerOptions = {
  trustProxy: false,
  maxHeldBodyBytes: 96 * MIB,
  maxHeaderBytes: 16 * 1024,
  maxRequestsPerSocket: 1_000,
  maxConnections: 10_000,
  headersTimeoutMs: 10 * SECOND,
  requestTimeoutMs: 30 * SECOND,
  keepAliveTimeoutMs: 65 * SECOND,
  connectionsCheckingIntervalMs: SECOND,
  strictTransport: false,
  draining: new Draining(),
  servedWhileDraining: '/health',
  log: () => undefined,
  translateError: (error) => error,
  gate: () => undefined,
};

/**
 * The HTTP server of the API: every answer, Node's own parser errors included, carries the error envelope, `X-Request-Id`
 * and the security headers; bodies are JSON in UTF-8 within bounds; paths match exactly; HEAD is served where GET is.
 */
export function createHttpAdapter(options: Partial<HttpServerOptions> = {}): FastifyAdapter {
  return new HttpAdapter({ ...DEFAULTS, draining: new Draining(), ...options });
}

class HttpAdapter extends FastifyAdapter {
  private readonly budget: BodyBudget;
  private readonly unknownRoutes: UnknownRoutes;

  constructor(private readonly settings: HttpServerOptions) {
    super({
      // There is no middleware: hooks, guards and filters do its work.
      skipMiddie: true,
      trustProxy: settings.trustProxy,
      genReqId: requestIdOf,
      routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
      return503OnClosing: false,
      frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
        this.answerRouterError(error, request, reply),
      clientErrorHandler: (error: Error, socket: Socket) => answerParserError(error, socket, settings.log),
      serverFactory: (handler: RequestListener) => createNodeServer(handler, settings),
    });
    this.budget = new BodyBudget(settings.maxHeldBodyBytes);
    const instance: FastifyInstance = this.getInstance();
    for (const [name, value] of Object.entries(REQUEST_FIELDS)) instance.decorateRequest(name, value);
    this.unknownRoutes = new UnknownRoutes(instance);
    acceptJsonBodies(instance, this.budget);
    instance.addHook('onRequest', (request, reply, done) => this.admit(request, reply, done));
    instance.addHook('onSend', responseHeadersHook(settings.strictTransport));
    instance.setErrorHandler(errorHandler(settings.translateError));
    instance.setNotFoundHandler((request, reply) => this.unknownRoutes.answer(request, reply));
  }

  /** Nest's own handlers would speak another dialect; those of the constructor stay. */
  override setErrorHandler(): never {
    return this.getInstance<FastifyInstance>() as never;
  }

  override setNotFoundHandler(): never {
    return this.getInstance<FastifyInstance>() as never;
  }

  override registerParserMiddleware(): void {
    // The JSON parser of the constructor is the only one.
  }

  private admit(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    this.settings.draining.enter();
    reply.raw.once('close', () => this.settle(request, reply));
    const refusal = this.refusalOf(request, reply);
    if (refusal) void sendError(reply, refusal);
    else if (request.is404) this.unknownRoutes.answer(request, reply);
    else done();
  }

  private refusalOf(request: FastifyRequest, reply: FastifyReply): AppError | undefined {
    const { draining, servedWhileDraining, gate } = this.settings;
    if (draining.active) {
      void reply.header('connection', 'close');
      if (!request.url.startsWith(servedWhileDraining)) return draining.refusal();
    }
    return request.is404 ? undefined : gate(request);
  }

  private settle(request: FastifyRequest, reply: FastifyReply): void {
    this.settings.draining.leave();
    this.budget.give(request.heldBytes);
    if (!request.raw.complete) cutOffLater(request);
    this.settings.log(lineOf(request, reply));
  }

  /** Hooks do not run for what the router itself refuses. */
  private answerRouterError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    void reply.headers(rawHeaders(request.id));
    void sendError(reply, toAppError(error));
    this.settings.log(lineOf(request, reply));
  }
}

const served = Symbol('requests served');

/**
 * Node's own limit says "close" but leaves the connection open, and then answers an empty 503 to a client that goes on.
 * @returns the number of requests on this connection, this one included.
 */
function countOn(socket: Socket & { [served]?: number }): number {
  const count = (socket[served] ?? 0) + 1;
  socket[served] = count;
  return count;
}

function cutOffLater({ raw }: FastifyRequest): void {
  const timer = setTimeout(() => {
    if (!raw.complete) raw.socket.destroy();
  }, UNREAD_BODY_MS).unref();
  raw.socket.once('close', () => clearTimeout(timer));
}

function createNodeServer(handler: RequestListener, options: HttpServerOptions): Server {
  const { log } = options;
  const server = createServer({
    maxHeaderSize: options.maxHeaderBytes,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: options.keepAliveTimeoutMs,
    connectionsCheckingInterval: options.connectionsCheckingIntervalMs,
    // Checked in refuseRequest, which answers with the envelope.
    requireHostHeader: false,
  });
  server.maxConnections = options.maxConnections;
  const serve: RequestListener = (request, response: ServerResponse) => {
    if (countOn(request.socket) >= options.maxRequestsPerSocket) response.setHeader('connection', 'close');
    const refusal = refuseRequest(request);
    if (refusal) answerRaw(request, response, refusal, log);
    else handler(request, response);
  };
  server.on('request', serve);
  server.on('checkContinue', (request, response) => {
    postponeContinue(request, response);
    serve(request, response);
  });
  server.on('checkExpectation', (request, response) => {
    answerRaw(request, response, new AppError('expectation_failed', 'Only 100-continue can be expected'), log);
  });
  server.on('connect', (_request, socket) => answerConnect(socket, log));
  return server;
}
