import type { MediaTypeObject, OpenAPIObject, ReferenceObject, ResponseObject, ResponsesObject } from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode } from '../common/errors/app-error';
import { isRecord } from '../common/values';
import type { Schema } from './document';

/** Adds examples to responses: for an error, one for each code; for a success, one made of the examples of its fields. */
export function withExamples(document: OpenAPIObject, responses: ResponsesObject): ResponsesObject {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [status, withExample(document, status, response)]),
  );
}

function withExample(
  document: OpenAPIObject,
  status: string,
  response: ResponseObject | ReferenceObject | undefined,
): ResponseObject | ReferenceObject | undefined {
  if (!response || '$ref' in response || !response.content) return response;
  const { description } = response;
  const content = Object.entries(response.content).map(([type, media]) => [
    type,
    type === 'application/json' ? exemplify(document, media, Number(status) >= 400 ? description : undefined) : media,
  ]);
  return { ...response, content: Object.fromEntries(content) as Record<string, MediaTypeObject> };
}

/** @param errors the description of an error, which names its codes */
function exemplify(document: OpenAPIObject, media: MediaTypeObject, errors: string | undefined): MediaTypeObject {
  if (media.examples || media.example !== undefined || !media.schema) return media;
  const codes = [...(errors ?? '').matchAll(/^`(\w+)`: /gm)].flatMap(([, code]) => (isErrorCode(code) ? [code] : []));
  const examples = codes.map((code) => [
    code,
    { summary: code, value: { error: { code, message: ERROR_CODES[code].summary } } },
  ]);
  if (codes.length === 0) return { ...media, example: exampleOf(document, media.schema as Schema) };
  return { ...media, examples: Object.fromEntries(examples) as MediaTypeObject['examples'] };
}

function isErrorCode(code: string | undefined): code is ErrorCode {
  return code !== undefined && Object.hasOwn(ERROR_CODES, code);
}

/**
 * A value that the schema allows, made of the examples of its fields; optional fields without an example are left out.
 * Undefined when a required field has no example and none can be derived from its type.
 */
export function exampleOf(document: OpenAPIObject, schema: Schema): unknown {
  const resolved = resolve(document, schema);
  if ('example' in resolved) return resolved.example;
  if (Array.isArray(resolved.enum)) return resolved.enum[0];
  const [choice] = [resolved.oneOf ?? resolved.anyOf ?? []].flat() as Schema[];
  if (choice) return exampleOf(document, choice);
  if (isRecord(resolved.properties)) return exampleObject(document, resolved);
  return exampleOfType(document, resolved);
}

const EXAMPLES_BY_FORMAT: Readonly<Record<string, string>> = {
  uuid: '0197a3f2-6c1e-7b60-9d52-3f1c0e6a4b28',
  'date-time': '2026-11-20T10:00:00.000Z',
  date: '2026-11-20',
  email: 'ada@example.com',
  uri: 'https://example.com/hooks/waybill',
};

function exampleOfType(document: OpenAPIObject, schema: Schema): unknown {
  const [type] = [schema.type].flat() as (string | undefined)[];
  if (type === 'array') return [exampleOf(document, schema.items as Schema)];
  if (type === 'object') return {};
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return schema.minimum ?? 0;
  if (type === 'null') return null;
  return EXAMPLES_BY_FORMAT[String(schema.format)] ?? 'text';
}

function exampleObject(document: OpenAPIObject, { properties, required = [] }: Schema): Schema {
  const shown = Object.entries(properties as Record<string, Schema>).filter(
    ([name, property]) => (required as string[]).includes(name) || 'example' in resolve(document, property),
  );
  return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(document, property)]));
}

function resolve(document: OpenAPIObject, schema: Schema): Schema {
  const { $ref, allOf } = schema as { $ref?: string; allOf?: Schema[] };
  if (allOf?.length === 1 && allOf[0]) return { ...resolve(document, allOf[0]), ...schema };
  if ($ref === undefined) return schema;
  return (document.components?.schemas?.[$ref.replace('#/components/schemas/', '')] ?? {}) as Schema;
}
