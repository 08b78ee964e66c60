import type {
  HeaderObject,
  OpenAPIObject,
  OperationObject,
  ParameterObject,
  ReferenceObject,
  ResponseObject,
  ResponsesObject,
  SecurityRequirementObject,
} from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode } from '../common/errors/app-error';
import { describeErrors, ERROR_SCHEMA } from '../common/http/dto/openapi.decorators';
import { TAG_DESCRIPTIONS } from './api-description';
import { withExamples } from './examples';
import {
  closeRequests,
  isPublic,
  listOperations,
  mapOperations,
  type Method,
  normalizeSchemas,
  type Operation,
  withPlainNames,
} from './document';
import { describeWebhooks } from './webhook-payloads';

const integer = (description: string): HeaderObject => ({ description, schema: { type: 'integer' } });
const text = (description: string): HeaderObject => ({ description, schema: { type: 'string' } });

/** Every documented response header, by name. */
const RESPONSE_HEADERS = {
  'X-Request-Id': text('Quote it to the operator; it is in every log line of the request'),
  'X-RateLimit-Limit': integer('Requests per window of the limit that is closest to being reached'),
  'X-RateLimit-Remaining': integer('What is left of it'),
  'X-RateLimit-Reset': integer('When its window ends, in seconds since 1970'),
  'X-Test-Mode': { description: 'With a test key', schema: { type: 'string', enum: ['true'] } },
  'Retry-After': integer('Seconds to wait before trying again'),
  Allow: text('The methods that the path supports'),
  'Idempotent-Replayed': {
    description: 'The response to an earlier request with the same idempotency key',
    schema: { type: 'string', enum: ['true'] },
  },
} as const satisfies Record<string, HeaderObject>;

type HeaderName = keyof typeof RESPONSE_HEADERS;

const RATE_LIMITS: readonly HeaderName[] = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
/** Statuses of responses that are sent before, or without, a check of the rate limits. */
const UNLIMITED: ReadonlySet<string> = new Set(['401', '405', '500', '503']);
/** Statuses of responses to callers that are not authenticated. */
const UNKNOWN_CALLER: ReadonlySet<string> = new Set(['401', '405']);

/**
 * Adds to a generated document what all routes of a kind have in common and no controller declares: the errors that
 * follow from having a path id, a query or a body, the response headers, the scope in words, the descriptions of the tags.
 */
export function completeDocument(document: OpenAPIObject): OpenAPIObject {
  const normal = closeRequests(normalizeSchemas(document));
  const paths = mapOperations(normal.paths, (operation, method) => completeOperation(operation, method, normal));
  const used = new Set(listOperations(paths).flatMap(({ operation }) => operation.tags ?? []));
  const known = Object.entries(TAG_DESCRIPTIONS).filter(([name]) => used.has(name));
  const { openapi, info, servers } = normal;
  return withPlainNames({
    openapi,
    info,
    servers,
    tags: known.map(([name, description]) => ({ name, description })),
    paths,
    webhooks: describeWebhooks(),
    components: { ...normal.components, headers: RESPONSE_HEADERS },
  });
}

function completeOperation(operation: Operation, method: Method, document: OpenAPIObject): Operation {
  const { 'x-required-scope': scope, ...rest } = operation;
  const open = isPublic(operation);
  return {
    ...rest,
    ...(!open && scope !== undefined && { 'x-required-scope': scope }),
    description: withAccess(operation.description, open ? undefined : scope),
    security: open ? [] : withScope(operation.security ?? [], scope),
    parameters: (operation.parameters ?? []).map(withFormat),
    responses: withExamples(document, completeResponses(operation, method)),
  };
}

/** The class and the method may both require a key. In OpenAPI 3.1 the array of a requirement lists the scopes it needs. */
function withScope(security: readonly SecurityRequirementObject[], scope: string | undefined) {
  return security.slice(0, 1).map((requirement) => {
    const schemes = Object.keys(requirement).map((name) => [name, scope === undefined ? [] : [scope]]);
    return Object.fromEntries(schemes) as SecurityRequirementObject;
  });
}

function withAccess(description: string | undefined, scope: string | undefined): string {
  const access = scope === undefined ? 'Needs no key.' : `Scope: \`${scope}\``;
  return description ? `${description}\n\n${access}` : access;
}

/** Every path id is a UUID; its pipe validates that, but adds nothing to the document. */
function withFormat(parameter: ParameterObject | ReferenceObject): ParameterObject | ReferenceObject {
  if ('$ref' in parameter || parameter.in !== 'path' || !/^(id|\w+Id)$/.test(parameter.name)) return parameter;
  return { ...parameter, schema: { type: 'string', format: 'uuid' } };
}

function completeResponses(operation: Operation, method: Method): ResponsesObject {
  const responses: ResponsesObject = { ...operation.responses };
  for (const code of impliedErrors(operation, method)) {
    const { status } = ERROR_CODES[code];
    responses[status] = withError(responses[status], code);
  }
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [status, withHeaders(operation, status, response)]),
  );
}

/**
 * A route with a key refuses every query field that it does not declare; public routes take any, but no broken `%` in the path.
 * A body is read, and refused, also where none is declared, except that of GET.
 */
function impliedErrors(operation: Operation, method: Method): ErrorCode[] {
  const { parameters = [], requestBody } = operation;
  const isIn = (place: string) => (parameter: ParameterObject | ReferenceObject) =>
    'in' in parameter && parameter.in === place;
  const codes: ErrorCode[] = ['method_not_allowed'];
  if (parameters.some(isIn('path'))) codes.push('resource_not_found');
  if (!isPublic(operation) || requestBody || parameters.length > 0) codes.push('invalid_request');
  if (requestBody || (!isPublic(operation) && method !== 'get')) {
    codes.push('payload_too_large', 'unsupported_media_type');
  }
  return codes;
}

function withError(response: ResponsesObject[string], code: ErrorCode): ResponseObject {
  if (!response || '$ref' in response) {
    return { description: describeErrors([code]), content: { 'application/json': { schema: ERROR_SCHEMA } } };
  }
  if (response.description.includes(`\`${code}\``)) return response;
  return { ...response, description: `${response.description}\n\n${describeErrors([code])}` };
}

function withHeaders(operation: Operation, status: string, response: ResponsesObject[string]): ResponsesObject[string] {
  if (!response || '$ref' in response) return response;
  return { ...response, headers: { ...headersOf(operation, status, response.description), ...response.headers } };
}

/** The headers of one response, as references. @param description names the error codes */
function headersOf(operation: OperationObject, status: string, description: string) {
  const names = headerNames(operation, status, description);
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function headerNames(operation: OperationObject, status: string, description: string): HeaderName[] {
  const names: HeaderName[] = ['X-Request-Id'];
  const keyed = !isPublic(operation);
  if (keyed && !UNLIMITED.has(status)) names.push(...RATE_LIMITS);
  if (keyed && !isOperators(operation) && !UNKNOWN_CALLER.has(status)) names.push('X-Test-Mode');
  if (hasRetryAfter(status, description)) names.push('Retry-After');
  if (status === '405') names.push('Allow');
  if (isStored(status, description) && isIdempotent(operation)) names.push('Idempotent-Replayed');
  return names;
}

/** Operator routes: operator keys are neither live nor test keys. */
function isOperators({ security = [] }: OperationObject): boolean {
  return security.some((requirement) => 'operator' in requirement);
}

function hasRetryAfter(status: string, description: string): boolean {
  return status === '429' || /`(service_unavailable|idempotency_in_progress)`/.test(description);
}

/** Responses that are stored under an idempotency key: acceptances and final refusals. */
function isStored(status: string, description: string): boolean {
  return status.startsWith('2') || /`(domain_not_verified|recipient_suppressed)`/.test(description);
}

function isIdempotent({ parameters = [] }: OperationObject): boolean {
  return parameters.some((parameter) => 'name' in parameter && parameter.name === 'X-Idempotency-Key');
}
