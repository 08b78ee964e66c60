import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Request, Response } from 'express';
import type { RequestSpan } from '../../tracing/tracing';
import type { BodyBudget } from './request-body';
import type { Operator, Principal } from '../principal';

declare module 'express-serve-static-core' {
  interface Request {
    /** The client's `X-Request-Id` or a new one. */
    id: string;
    /** `performance.now()` when the headers had arrived. */
    startedAtMs: number;
    /** Who is calling, set by the auth guard; absent on public routes. */
    principal?: Principal | undefined;
    /** The same of a route of `/operator/v1`; never beside a principal. */
    operator?: Operator | undefined;
    /** Of a request whose trace is sampled. */
    span?: RequestSpan | undefined;
    /** The unforeseen error behind a 5xx, for the log only. */
    failure?: unknown;
    /** The client waits for "100 Continue" before it sends the body. */
    awaitsContinue: boolean;
    /** Bytes of a large body that this request holds of the process's budget. */
    heldBytes: number;
    /** Whose share of the budget that is. */
    bodyHolder?: string | undefined;
    readonly bodyBudget: BodyBudget;
    /**
     * Called when the response starts, however slowly its client reads it, and when it is made; also when its client has
     * closed.
     */
    onResponded: (() => void) | undefined;
  }
}

/** One request in the log. It has the route's pattern instead of the URL, which holds addresses. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  /** Undefined when no route took the request. */
  readonly route: string | undefined;
  /** The requested path, when no route matched. */
  readonly path?: string;
  readonly status: number;
  readonly durationMs: number;
  readonly organizationId?: string;
  readonly apiKeyId?: string;
  readonly operatorKeyId?: string;
  /** The client went away before the response was complete. */
  readonly aborted?: true;
  /** The cause of a 5xx. */
  readonly err?: unknown;
}

export type LogRequest = (line: RequestLine) => void;

/** Call it when the response is complete or the connection closed. */
export function lineOf(request: Request, response: Response): RequestLine {
  const { principal, operator, failure } = request;
  const route = patternOf(request);
  return {
    requestId: request.id,
    method: request.method,
    route,
    ...(route === undefined && { path: loggablePath(request.url) }),
    status: response.statusCode,
    durationMs: Math.round((performance.now() - request.startedAtMs) * 100) / 100,
    ...(principal && { organizationId: principal.organizationId, apiKeyId: principal.apiKeyId }),
    ...(operator && { operatorKeyId: operator.keyId }),
    ...(!response.writableFinished && { aborted: true as const }),
    ...(failure !== undefined && { err: failure }),
  };
}

/** The pattern of the route that took the request: `/v1/emails/:id`. */
export function patternOf(request: Request): string | undefined {
  const route = request.route as { path?: unknown } | undefined;
  return typeof route?.path === 'string' ? route.path : undefined;
}

const MAX_PATH_CHARACTERS = 200;
/** Longer ones may be tokens; those with an at sign are addresses. */
const MAX_SEGMENT_CHARACTERS = 40;

/** A path that no route has, without a query, and without what could be personal or secret. */
export function loggablePath(url: string): string {
  const path = url.slice(0, MAX_PATH_CHARACTERS).split(/[?#]/, 1)[0] ?? '';
  const isPlain = (segment: string) =>
    segment.length <= MAX_SEGMENT_CHARACTERS && /^[\w.~!$&'()*+,;=:-]*$/.test(segment);
  return path
    .split('/')
    .map((segment) => (isPlain(segment) ? segment : '…'))
    .join('/');
}

const VALID_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Unique per process and hard to guess; the counter makes it unique per request at a tenth of the cost of a UUID. */
const prefix = randomBytes(9).toString('base64url');
let counter = 0;

/** An id that is unique among processes and requests. */
export function newRequestId(): string {
  counter += 1;
  return `${prefix}-${counter.toString(36)}`;
}

/** The client's `X-Request-Id` when it is 1–128 of `[A-Za-z0-9._-]`, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && VALID_ID.test(given) ? given : newRequestId();
}

/** A target in absolute form (RFC 9112 section 3.2.2), without user information, which no request may have (RFC 9110 section 4.2.4). */
const ABSOLUTE_TARGET = /^https?:\/\/([^/?#@\\\s]+)(?=[/?]|$)/i;

/**
 * Turns a target in absolute form, as clients send it to a proxy, into the path that it names. Its host takes the place of the `Host`
 * field (RFC 9112 section 3.2.2).
 */
export function readTarget(request: IncomingMessage): void {
  const { url = '' } = request;
  if (url.charCodeAt(0) === 0x2f) return;
  const [origin, authority] = ABSOLUTE_TARGET.exec(url) ?? [];
  if (origin === undefined) return;
  const path = url.slice(origin.length);
  request.url = path.startsWith('/') ? path : `/${path}`;
  request.headers.host = authority;
}
