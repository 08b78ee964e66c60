import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { SECOND } from '../../clock';
import { withoutTenant } from '../../tenant';
import { Draining } from './draining';
import { contentOf, endWith, type ErrorTranslator, sendError, statusOf, toAppError } from '../responses/error-response';
import { expressMessages, standardHeaders } from '../request/express-messages';
import { createNodeServer, type NodeServerOptions } from './node-server';
import { BodyBudget, holderOf, holdUntilRead, MAX_HELD_BYTES } from '../request/request-body';
import { type RouteHandler, RouteTable } from './route-table';

export interface HttpServerOptions extends NodeServerOptions {
  /** Whose `X-Forwarded-For` is used: of no peer, every peer, this many proxies, or these addresses and networks. */
  readonly trustProxy: boolean | number | readonly string[];
  /** Bytes of bodies above 32 KiB held at a time, half of them for one organization; beyond it, 503. */
  readonly maxHeldBodyBytes: number;
  /** Shared with other listeners of this process; default: its own, of `maxHeldBodyBytes`. */
  readonly bodyBudget?: BodyBudget;
  /** Adds Strict-Transport-Security: when clients reach the service over https. */
  readonly strictTransport: boolean;
  readonly translateError: ErrorTranslator;
}

const DEFAULTS: Omit<HttpServerOptions, 'draining'> = {
  trustProxy: false,
  maxHeldBodyBytes: MAX_HELD_BYTES,
  maxHeaderBytes: 16 * 1024,
  maxRequestsPerSocket: 1_000,
  // What so many cause at the same moment takes 35 ms of a turn of the event loop, and twice that on slow hosts (`bench:attack`).
  maxConnections: 3_000,
  headersTimeoutMs: 10 * SECOND,
  requestTimeoutMs: 30 * SECOND,
  keepAliveTimeoutMs: 65 * SECOND,
  connectionsCheckingIntervalMs: SECOND,
  strictTransport: false,
  servedWhileDraining: '/health',
  tenantScopes: true,
  log: () => undefined,
  translateError: (error) => error,
};

/**
 * The HTTP server of the API. Every response, also to what Node's parser refuses, has `X-Request-Id` and the security
 * headers; every error has the envelope; bodies are bounded JSON in UTF-8 (`BodyGuard`); paths match exactly; HEAD is
 * served where GET is. Express middleware runs before the routes: `app.use` and Nest's `MiddlewareConsumer`.
 */
export function createHttpAdapter(options: Partial<HttpServerOptions> = {}): HttpAdapter {
  return new HttpAdapter({ ...DEFAULTS, draining: new Draining(), ...options });
}

/** Nest's Express adapter without what an API does not need (docs/adr/0001-express-under-nest.md). */
export class HttpAdapter extends ExpressAdapter {
  private readonly routes = new RouteTable();

  constructor(private readonly settings: HttpServerOptions) {
    super(createExpress(settings.trustProxy));
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const headers = standardHeaders(this.settings.strictTransport);
    const { bodyBudget = new BodyBudget(this.settings.maxHeldBodyBytes) } = this.settings;
    const messages = expressMessages(app, headers, bodyBudget);
    const serve = (request: Request, response: Response): void => {
      app(request, response, (error: unknown) => this.fail(error, request, response));
    };
    this.httpServer = createNodeServer({ options: this.settings, headers, messages, serve });
  }

  override listen(port: string | number, ...rest: unknown[]): ReturnType<ExpressAdapter['listen']> {
    const listen = () => super.listen(port, ...(rest as [string, () => void]));
    return this.settings.tenantScopes ? withoutTenant(listen) : listen();
  }

  override get(...args: unknown[]): void {
    this.route('GET', args);
  }

  override post(...args: unknown[]): void {
    this.route('POST', args);
  }

  override put(...args: unknown[]): void {
    this.route('PUT', args);
  }

  override patch(...args: unknown[]): void {
    this.route('PATCH', args);
  }

  override delete(...args: unknown[]): void {
    this.route('DELETE', args);
  }

  override head(...args: unknown[]): void {
    this.route('HEAD', args);
  }

  override options(...args: unknown[]): void {
    this.route('OPTIONS', args);
  }

  override all(...args: unknown[]): void {
    this.route('ALL', args);
  }

  private route(method: string, [path, handler]: unknown[]): void {
    this.routes.add(method, String(path), handler as RouteHandler);
  }

  /** Called after all middleware and routes are registered. Nest's own handler would return another error format. */
  override setNotFoundHandler(): void {
    this.use((request: Request, response: Response, next: NextFunction) =>
      this.routes.dispatch(request, response, next),
    );
    this.use((request: Request, response: Response) => this.refuseUnknown(request, response));
  }

  override setErrorHandler(): void {
    this.use((error: unknown, request: Request, response: Response, next: NextFunction) => {
      // Express recognises an error handler by its four parameters.
      void next;
      this.fail(error, request, response);
    });
  }

  override registerParserMiddleware(): void {
    // BodyGuard reads the bodies.
  }

  private refuseUnknown(request: Request, response: Response): void {
    request.route = undefined;
    sendError(response, this.routes.refusalOf(request));
  }

  /** The one place where an error becomes a response. */
  private fail(error: unknown, request: Request, response: Response): void {
    const known = toAppError(this.settings.translateError(error));
    if (statusOf(known) >= 500) request.failure = known.cause ?? known;
    if (!response.headersSent) sendError(response, known);
    // Half a response is out: only a broken connection can still report the error.
    else if (!response.writableEnded) response.destroy();
  }

  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    if (statusCode !== undefined) response.statusCode = statusCode;
    if (body instanceof StreamableFile) return super.reply(response, body);
    const [type, content] = contentOf(body);
    if (type !== undefined && !response.hasHeader('content-type')) response.setHeader('content-type', type);
    // A change that is made is not refused for the length of its response; bytes are held by who made them.
    if (response.req?.method === 'GET' && typeof content === 'string') {
      holdUntilRead(response.req.bodyBudget, holderOf(response.req), content.length, response);
    }
    return endWith(response, content);
  }

  override redirect(response: Response, statusCode: number, url: string): void {
    response.statusCode = statusCode;
    response.setHeader('location', url);
    endWith(response, '');
  }

  override status(response: Response, statusCode: number): Response {
    response.statusCode = statusCode;
    return response;
  }

  override setHeader(response: Response, name: string, value: string): Response {
    return response.setHeader(name, value);
  }
}

function createExpress(trustProxy: HttpServerOptions['trustProxy']): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.enable('case sensitive routing').enable('strict routing');
  app.set('trust proxy', trustProxy);
  return app;
}
