import type { FastifyReply, FastifyRequest } from 'fastify';

/** One request as the log tells it. Carries the route's pattern and never the URL, which holds addresses. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  /** Undefined when no route took the request. */
  readonly route: string | undefined;
  readonly status: number;
  readonly durationMs: number;
  readonly organizationId?: string;
  readonly apiKeyId?: string;
  /** The client went away before the response was complete. */
  readonly aborted?: true;
  /** Behind a 5xx. */
  readonly err?: unknown;
}

export type LogRequest = (line: RequestLine) => void;

export function lineOf(request: FastifyRequest, reply: FastifyReply): RequestLine {
  const { principal, failure } = request;
  return {
    requestId: request.id,
    method: request.method,
    route: request.routeOptions.url,
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 100) / 100,
    ...(principal && { organizationId: principal.organizationId, apiKeyId: principal.apiKeyId }),
    ...(!reply.raw.writableFinished && { aborted: true as const }),
    ...(failure !== undefined && { err: failure }),
  };
}
