import { IncomingMessage, ServerResponse } from 'node:http';
import { parse } from 'node:querystring';
import type { Express, Request } from 'express';
import type { Principal } from '../principal';
import { type BodyBudget, releaseBody } from './request-body';
import helmet from 'helmet';

type Header = readonly [name: string, value: string];

export interface StandardHeaders {
  /** On every response, whatever the handler sets. */
  readonly fixed: readonly Header[];
  /** On every response unless the handler has set its own (the HTML pages do). */
  readonly defaults: readonly Header[];
}

const POLICY = 'content-security-policy';

/**
 * The security headers, as helmet writes them. They are the same for all responses, so helmet runs once, at the start.
 * @param strictTransport true when clients reach the service over https (a proxy in front may send the header too).
 */
export function standardHeaders(strictTransport: boolean): StandardHeaders {
  const headers = new Map(helmetHeaders(strictTransport));
  const policy = String(headers.get(POLICY)).replaceAll(';', '; ');
  headers.delete(POLICY);
  return {
    fixed: [...headers],
    defaults: [
      ['cache-control', 'no-store'],
      [POLICY, policy],
    ],
  };
}

function helmetHeaders(strictTransport: boolean): Header[] {
  const headers: Header[] = [];
  const recorder = {
    setHeader: (name: string, value: string) => headers.push([name.toLowerCase(), value]),
    removeHeader: () => undefined,
  };
  const directives = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] };
  const setHeaders = helmet({
    contentSecurityPolicy: { useDefaults: false, directives },
    strictTransportSecurity: strictTransport && { maxAge: 31_536_000, includeSubDomains: false },
    referrerPolicy: { policy: 'no-referrer' },
    // These concern pages that load other things; the callers of an API are programs.
    crossOriginOpenerPolicy: false,
    crossOriginResourcePolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xFrameOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  });
  setHeaders({} as IncomingMessage, recorder as unknown as ServerResponse, () => undefined);
  return headers;
}

/**
 * The classes of the requests and responses of one Express application.
 *
 * Express gives every request and response its own prototype, which makes V8 forget their shapes. Here Node creates them
 * with that prototype, so that Express finds nothing to change; and what is ours stands on all of them from the start.
 */
export function expressMessages(app: Express, headers: StandardHeaders, bodyBudget: BodyBudget) {
  class ExpressRequest extends IncomingMessage {
    id = '';
    startedAtMs = 0;
    principal: Principal | undefined = undefined;
    failure: unknown = undefined;
    awaitsContinue = false;
    heldBytes = 0;
    onResponded: (() => void) | undefined = undefined;
    bodyHolder: string | undefined = undefined;
    body: unknown = undefined;
    private parsedQuery: object | undefined = undefined;

    get bodyBudget(): BodyBudget {
      return bodyBudget;
    }

    /** Express parses at every access. */
    get query(): object {
      this.parsedQuery ??= parseQuery(this.url ?? '');
      return this.parsedQuery;
    }
  }

  class ExpressResponse extends ServerResponse<ExpressRequest> {
    /** Every response passes here, also one of a middleware. */
    override writeHead(status: number, ...rest: never[]): this {
      this.setHeader('x-request-id', this.req.id);
      for (const [name, value] of headers.fixed) this.setHeader(name, value);
      for (const [name, value] of headers.defaults) if (!this.hasHeader(name)) this.setHeader(name, value);
      if (isArriving(this.req)) closeAfterBody(this);
      this.req.onResponded?.();
      return super.writeHead(status, ...rest);
    }

    override end(...content: never[]): this {
      return responded(super.end(...content));
    }
  }

  const prototypes = app as unknown as { request: object; response: object };
  Object.setPrototypeOf(ExpressRequest.prototype, prototypes.request);
  Object.setPrototypeOf(ExpressResponse.prototype, prototypes.response);
  prototypes.request = ExpressRequest.prototype;
  prototypes.response = ExpressResponse.prototype;
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** Whether a request has a body, of any method, that is not there to its end. */
function isArriving({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}

/**
 * A response that goes out before the request's body has arrived is the last of its connection (RFC 9112 section 9.3). HAProxy 2.6 would
 * send the next request, of another client, into the middle of that body. What still arrives is read, since the response could be
 * lost by a connection that is closed at once; `settle` bounds the time.
 */
function closeAfterBody(response: ServerResponse): void {
  response.setHeader('connection', 'close');
  const { req: request } = response;
  const { socket } = request;
  const destroySoon = socket.destroySoon.bind(socket);
  // Node calls it when the response is complete.
  socket.destroySoon = () => {
    if (request.complete) return destroySoon();
    socket.end();
    request.once('end', destroySoon);
  };
}

function responded<Response extends ServerResponse>(response: Response): Response {
  const request = response.req as Request;
  releaseBody(request);
  // Without a head when its client has closed.
  request.onResponded?.();
  return response;
}

/** The header limit bounds the number of parameters. */
function parseQuery(url: string): object {
  const begin = url.indexOf('?');
  if (begin === -1) return {};
  const end = url.indexOf('#', begin);
  return parse(url.slice(begin + 1, end === -1 ? undefined : end), '&', '=', { maxKeys: 0 });
}
