import type { OpenAPIObject, ParameterObject, ReferenceObject, ResponseObject, ResponsesObject } from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode } from '../common/errors/error-codes';
import { describeErrors, ERROR_SCHEMA } from '../common/http/openapi.decorators';
import { headersOf, RESPONSE_HEADERS } from './documented-headers';
import { TAG_DESCRIPTIONS } from './documented-tags';
import { isPublic, listOperations, mapOperations, type Operation } from './operations';

/**
 * Adds to a generated document what holds for all routes of a kind and therefore stands at none of them: the errors that
 * follow from having a path id, a query or a body, the response headers, the scope in words, the descriptions of the tags.
 */
export function completeDocument(document: OpenAPIObject): OpenAPIObject {
  const paths = mapOperations(document.paths, completeOperation);
  const used = new Set(listOperations(paths).flatMap(({ operation }) => operation.tags ?? []));
  const known = Object.entries(TAG_DESCRIPTIONS).filter(([name]) => used.has(name));
  const { openapi, info, servers } = document;
  return {
    openapi,
    info,
    servers,
    tags: known.map(([name, description]) => ({ name, description })),
    paths,
    components: { ...document.components, headers: RESPONSE_HEADERS },
  };
}

function completeOperation(operation: Operation): Operation {
  const { 'x-required-scope': scope, ...rest } = operation;
  const open = isPublic(operation);
  return {
    ...rest,
    ...(!open && scope !== undefined && { 'x-required-scope': scope }),
    description: withAccess(operation.description, open ? undefined : scope),
    // The class and the method may both ask for the key.
    security: open ? [] : (operation.security ?? []).slice(0, 1),
    parameters: (operation.parameters ?? []).map(withFormat),
    responses: completeResponses(operation),
  };
}

function withAccess(description: string | undefined, scope: string | undefined): string {
  const access = scope === undefined ? 'Needs no key.' : `Scope: \`${scope}\``;
  return description ? `${description}\n\n${access}` : access;
}

/** A path id is a UUID wherever there is one; its pipe says so to the server only. */
function withFormat(parameter: ParameterObject | ReferenceObject): ParameterObject | ReferenceObject {
  if ('$ref' in parameter || parameter.in !== 'path' || !/^(id|\w+Id)$/.test(parameter.name)) return parameter;
  return { ...parameter, schema: { type: 'string', format: 'uuid' } };
}

function completeResponses(operation: Operation): ResponsesObject {
  const responses: ResponsesObject = { ...operation.responses };
  for (const code of impliedErrors(operation)) {
    const { status } = ERROR_CODES[code];
    responses[status] = withError(responses[status], code);
  }
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [status, withHeaders(operation, status, response)]),
  );
}

function impliedErrors({ parameters = [], requestBody }: Operation): ErrorCode[] {
  const isIn = (place: string) => (parameter: ParameterObject | ReferenceObject) =>
    'in' in parameter && parameter.in === place;
  const codes: ErrorCode[] = ['method_not_allowed'];
  if (parameters.some(isIn('path'))) codes.push('resource_not_found');
  if (requestBody || parameters.some(isIn('query'))) codes.push('invalid_request');
  if (requestBody) codes.push('payload_too_large', 'unsupported_media_type');
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
