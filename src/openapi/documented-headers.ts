import type { HeaderObject, OperationObject } from '@nestjs/swagger';
import { isPublic } from './operations';

const integer = (description: string): HeaderObject => ({ description, schema: { type: 'integer' } });
const text = (description: string): HeaderObject => ({ description, schema: { type: 'string' } });

/** Every documented response header, by name. */
export const RESPONSE_HEADERS = {
  'X-Request-Id': text('Quote it to the operator; it is in every log line of the request'),
  'X-RateLimit-Limit': integer('Requests per window of the limit that is closest to being reached'),
  'X-RateLimit-Remaining': integer('What is left of it'),
  'X-RateLimit-Reset': integer('When its window ends, in seconds since 1970'),
  'X-Test-Mode': { description: 'With a test key', schema: { type: 'string', enum: ['true'] } },
  'Retry-After': integer('Seconds to wait before trying again'),
  Allow: text('The methods that the path supports'),
  'Idempotent-Replayed': {
    description: 'The answer of an earlier request with the same idempotency key',
    schema: { type: 'string', enum: ['true'] },
  },
} as const satisfies Record<string, HeaderObject>;

type HeaderName = keyof typeof RESPONSE_HEADERS;

const RATE_LIMITS: readonly HeaderName[] = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
/** Refused before the limits are looked at, or outside of them. */
const UNLIMITED: ReadonlySet<string> = new Set(['401', '403', '405', '500', '503']);
/** Nobody was recognised. */
const UNKNOWN_CALLER: ReadonlySet<string> = new Set(['401', '405']);

/** The headers of one response, as references. @param description names the error codes */
export function headersOf(operation: OperationObject, status: string, description: string) {
  const names = headerNames(operation, status, description);
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function headerNames(operation: OperationObject, status: string, description: string): HeaderName[] {
  const names: HeaderName[] = ['X-Request-Id'];
  const keyed = !isPublic(operation);
  if (keyed && !UNLIMITED.has(status)) names.push(...RATE_LIMITS);
  if (keyed && !UNKNOWN_CALLER.has(status)) names.push('X-Test-Mode');
  if (tellsWhenToRetry(status, description)) names.push('Retry-After');
  if (status === '405') names.push('Allow');
  if (status.startsWith('2') && isIdempotent(operation)) names.push('Idempotent-Replayed');
  return names;
}

function tellsWhenToRetry(status: string, description: string): boolean {
  return status === '429' || /`(service_unavailable|idempotency_in_progress)`/.test(description);
}

function isIdempotent({ parameters = [] }: OperationObject): boolean {
  return parameters.some((parameter) => 'name' in parameter && parameter.name === 'X-Idempotency-Key');
}
