import type { OpenAPIObject, OperationObject, ParameterObject, ResponseObject } from '@nestjs/swagger';
import { listOperations } from '../../src/openapi/document';

type Schema = Record<string, any>;

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
const COMBINATIONS = ['allOf', 'anyOf', 'oneOf'];

/** Violations of the OpenAPI 3.1 specification that the generator does not prevent; empty when there are none. */
export function documentProblems(document: OpenAPIObject): string[] {
  return [
    ...(/^3\.1\.\d+$/.test(document.openapi) ? [] : [`${document.openapi} is not version 3.1`]),
    ...danglingReferences(document, document, '#'),
    ...repeated(document),
    ...listOperations(document.paths).flatMap(({ path, method, operation }) =>
      operationProblems(document, path, operation).map((problem) => `${method} ${path}: ${problem}`),
    ),
    ...Object.entries(document.components?.headers ?? {}).flatMap(([name, header]) =>
      schemaProblems((header as Schema).schema, `header ${name}`),
    ),
  ];
}

/** What is missing or contradictory in the models; nothing when all is well. */
export function modelProblems(document: OpenAPIObject): string[] {
  return Object.entries(document.components?.schemas ?? {}).flatMap(([name, schema]) => [
    ...(/^[A-Za-z0-9._-]+$/.test(name) ? [] : [`${name} is not a valid component name`]),
    ...schemaProblems(schema, name),
  ]);
}

function danglingReferences(document: OpenAPIObject, node: unknown, where: string): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const { $ref } = node as { $ref?: unknown };
  const here =
    typeof $ref === 'string' && resolve(document, $ref) === undefined ? [`${where}: ${$ref} is missing`] : [];
  return [
    ...here,
    ...Object.entries(node).flatMap(([key, child]) => danglingReferences(document, child, `${where}/${key}`)),
  ];
}

function resolve(document: OpenAPIObject, reference: string): unknown {
  const [root, ...keys] = reference.split('/');
  if (root !== '#') return undefined;
  return keys
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], document);
}

function repeated({ paths }: OpenAPIObject): string[] {
  const ids = listOperations(paths).map(({ operation }) => operation.operationId);
  const shapes = Object.keys(paths).map((path) => path.replace(/\{[^}]*\}/g, '{}'));
  return [...ids, ...shapes]
    .filter((value, index, all) => all.indexOf(value) !== index)
    .map((value) => `${value} is there twice`);
}

function operationProblems(document: OpenAPIObject, path: string, operation: OperationObject): string[] {
  const parameters = (operation.parameters ?? []) as ParameterObject[];
  const inPath = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name);
  const declared = parameters.filter((parameter) => parameter.in === 'path');
  const problems = parameters.flatMap((parameter) => schemaProblems(parameter.schema as Schema, parameter.name));
  if (!/^[a-z]\w*\.[a-z]\w*$/.test(operation.operationId ?? '')) problems.push(`operationId ${operation.operationId}`);
  if (
    declared
      .map(({ name }) => name)
      .sort()
      .join() !== [...inPath].sort().join()
  ) {
    problems.push('path and path parameters differ');
  }
  if (declared.some(({ required }) => required !== true)) problems.push('a path parameter is not required');
  for (const requirement of operation.security ?? []) {
    const unknown = Object.keys(requirement).filter((name) => !document.components?.securitySchemes?.[name]);
    problems.push(...unknown.map((name) => `unknown security scheme ${name}`));
  }
  const tags = document.tags?.map(({ name }) => name) ?? [];
  if (operation.tags?.length !== 1) problems.push('needs one tag');
  problems.push(
    ...(operation.tags ?? []).filter((tag) => !tags.includes(tag)).map((tag) => `tag ${tag} is not described`),
  );
  return [...problems, ...bodyProblems(operation)];
}

function bodyProblems({ requestBody, responses }: OperationObject): string[] {
  const bodies: [string, { content?: Schema; description?: string }][] = Object.entries(responses) as never;
  if (requestBody) bodies.push(['request', { description: 'a request needs none', ...requestBody }]);
  return bodies.flatMap(([status, { content = {}, description }]) => [
    ...(/^([1-5]\d\d|default|request)$/.test(status) ? [] : [`status ${status}`]),
    ...(description ? [] : [`${status} is not described`]),
    ...Object.entries(content).flatMap(([type, media]) =>
      schemaProblems((media as Schema).schema, `${status} ${type}`),
    ),
  ]);
}

function schemaProblems(schema: Schema | undefined, where: string): string[] {
  if (!schema) return [`${where} has no schema`];
  if ('nullable' in schema) return [`${where} is nullable, which 3.1 does not know`];
  if (typeof schema.$ref === 'string') return schema.type ? [`${where} has a type beside its reference`] : [];
  const parts = COMBINATIONS.filter((key) => Array.isArray(schema[key]));
  if (parts.length > 0) {
    const children = parts.flatMap((key) =>
      (schema[key] as Schema[]).flatMap((child, index) => schemaProblems(child, `${where}/${key}/${index}`)),
    );
    return schema.type ? [`${where} has a type beside ${parts.join()}`, ...children] : children;
  }
  const types = [schema.type].flat() as string[];
  if (!types.every((type) => TYPES.includes(type))) return [`${where} has the type ${types.join()}`];
  return [...enumProblems(schema, types, where), ...nestedProblems(schema, types, where)];
}

function enumProblems({ enum: values = [] }: Schema, types: string[], where: string): string[] {
  return (values as unknown[])
    .filter((value) => !types.includes(value === null ? 'null' : typeof value) && !types.includes('integer'))
    .map((value) => `${where} lists ${String(value)}, which is no ${types.join()}`);
}

function nestedProblems(schema: Schema, types: string[], where: string): string[] {
  if (types.includes('array')) return schemaProblems(schema.items as Schema | undefined, `${where}[]`);
  if (!types.includes('object')) return [];
  const { properties = {}, required = [], additionalProperties } = schema;
  const names = Object.keys(properties as object);
  const problems = (required as string[])
    .filter((name) => !names.includes(name))
    .map((name) => `${where} requires ${name}, which it does not have`);
  if (names.length === 0 && additionalProperties === undefined) problems.push(`${where} is an empty object`);
  if (typeof additionalProperties === 'object') {
    problems.push(...schemaProblems(additionalProperties as Schema, `${where}.*`));
  }
  return [...problems, ...names.flatMap((name) => schemaProblems((properties as Schema)[name], `${where}.${name}`))];
}

/** Whether a response is described well enough to be used: a model, or a redirect or an empty body. */
export function isSuccess(status: string, { content }: ResponseObject): boolean {
  if (/^3\d\d$/.test(status) || status === '204') return true;
  return /^2\d\d$/.test(status) && Object.values(content ?? {}).some(({ schema }) => schema !== undefined);
}
