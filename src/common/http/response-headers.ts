import type { FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';

/** On every response unless the handler has set its own (the HTML pages do). */
const DEFAULTS: readonly (readonly [name: string, value: string])[] = [
  ['cache-control', 'no-store'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
];

/** On every response, whatever the handler thinks. */
const FIXED: readonly (readonly [name: string, value: string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['referrer-policy', 'no-referrer'],
];

const HSTS = ['strict-transport-security', 'max-age=31536000'] as const;

/** The headers of a response that does not pass through Fastify. */
export function rawHeaders(requestId: string): Record<string, string> {
  return { 'x-request-id': requestId, ...Object.fromEntries(FIXED), ...Object.fromEntries(DEFAULTS) };
}

/**
 * Adds the request id and the security headers just before a response leaves, errors included.
 * @param strictTransport true when clients reach the service over https (the proxy in front may say so as well).
 */
export function responseHeadersHook(strictTransport: boolean): onSendHookHandler {
  const fixed = strictTransport ? [...FIXED, HSTS] : FIXED;
  return (request: FastifyRequest, reply: FastifyReply, _payload, done) => {
    void reply.header('x-request-id', request.id);
    for (const [name, value] of fixed) void reply.header(name, value);
    for (const [name, value] of DEFAULTS) {
      if (!reply.hasHeader(name)) void reply.header(name, value);
    }
    done();
  };
}
