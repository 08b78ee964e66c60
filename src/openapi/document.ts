import type { OpenAPIObject, OperationObject, PathItemObject } from '@nestjs/swagger';
import { isRecord } from '../common/values';

/** One route of the document, with the scope of its `@RequireScope`. */
export type Operation = OperationObject & { 'x-required-scope'?: string };

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;
export type Method = (typeof METHODS)[number];

/** Whether the route needs no key: `@Public()` adds an empty security requirement, which overrides a scope, as in the guards. */
export function isPublic({ security = [] }: OperationObject): boolean {
  return security.some((requirement) => Object.keys(requirement).length === 0);
}

/** A copy of the paths in which `change` has replaced every operation. */
export function mapOperations(
  paths: OpenAPIObject['paths'],
  change: (operation: Operation, method: Method) => Operation,
): OpenAPIObject['paths'] {
  return Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, mapItem(item, change)]));
}

/** Every operation, with its path and method. */
export function listOperations(
  paths: OpenAPIObject['paths'],
): { path: string; method: Method; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation ? [{ path, method, operation }] : [];
    }),
  );
}

function mapItem(item: PathItemObject, change: (operation: Operation, method: Method) => Operation): PathItemObject {
  const changed = METHODS.flatMap((method) => {
    const operation = item[method];
    return operation ? [[method, change(operation, method)]] : [];
  });
  return { ...item, ...(Object.fromEntries(changed) as PathItemObject) };
}

/** A JSON Schema as the generator makes it. */
export type Schema = Record<string, unknown>;

/**
 * Converts the schemas of a generated document to OpenAPI 3.1 as client generators understand it:
 * `nullable`, which 3.1 does not have, becomes the type `null`; a default of a request field moves into its description, because
 * generators treat a field with a default as one that is always present.
 */
export function normalizeSchemas(document: OpenAPIObject): OpenAPIObject {
  return walk(document, normalize) as OpenAPIObject;
}

/**
 * Removes the suffix of the classes from model names: `DomainDto` becomes `Domain` in the document and in the clients that are
 * generated from it.
 */
export function withPlainNames(document: OpenAPIObject): OpenAPIObject {
  const renamed = walk(document, (node) =>
    typeof node.$ref === 'string'
      ? { ...node, $ref: node.$ref.replace(/^(#\/components\/schemas\/\w+)Dto$/, '$1') }
      : node,
  ) as OpenAPIObject;
  const schemas = Object.entries(renamed.components?.schemas ?? {});
  return {
    ...renamed,
    components: {
      ...renamed.components,
      schemas: Object.fromEntries(schemas.map(([name, schema]) => [name.replace(/Dto$/, ''), schema])),
    },
  };
}

/**
 * Says of the bodies of requests that they take no further fields: the service refuses those by name. Models that responses have too stay
 * open, since later releases may add fields to responses.
 */
export function closeRequests(document: OpenAPIObject): OpenAPIObject {
  const schemas = (document.components?.schemas ?? {}) as Record<string, Schema>;
  const operations = listOperations(document.paths).map(({ operation }) => operation);
  const sent = modelsIn(
    operations.map(({ requestBody }) => requestBody),
    schemas,
  );
  const returned = modelsIn(
    operations.map(({ responses }) => responses),
    schemas,
  );
  const closed = Object.entries(schemas).map(([name, schema]) => {
    const isClosed = sent.has(name) && !returned.has(name) && isRecord(schema.properties);
    return [name, isClosed ? { ...schema, additionalProperties: false } : schema] as const;
  });
  const components = { ...document.components, schemas: Object.fromEntries(closed) };
  return { ...document, components };
}

/** The names of the models that a part of the document refers to, directly or by other models. */
function modelsIn(part: unknown, schemas: Record<string, Schema>): Set<string> {
  const names = new Set<string>();
  const visit = (node: Schema): Schema => {
    const name = typeof node.$ref === 'string' ? node.$ref.replace(/^#\/components\/schemas\//, '') : undefined;
    if (name !== undefined && !names.has(name)) {
      names.add(name);
      walk(schemas[name], visit);
    }
    return node;
  };
  walk(part, visit);
  return names;
}

function walk(node: unknown, change: (schema: Schema) => Schema): unknown {
  if (Array.isArray(node)) return (node as readonly unknown[]).map((child) => walk(child, change));
  if (!isRecord(node)) return node;
  const children = Object.entries(node).map(([key, child]) => [key, key === 'example' ? child : walk(child, change)]);
  return change(Object.fromEntries(children) as Schema);
}

function normalize(node: Schema): Schema {
  const plain = 'nullable' in node ? withNull(node) : node;
  return isRecord(plain.properties) && plain.type === 'object' ? withoutDefaults(plain) : plain;
}

function withNull({ nullable, ...schema }: Schema): Schema {
  if (nullable !== true) return schema;
  if (typeof schema.type === 'string') return { ...schema, type: [schema.type, 'null'] };
  const { description, ...rest } = schema;
  const all = Array.isArray(rest.allOf) && rest.allOf.length === 1 ? (rest.allOf[0] as Schema) : rest;
  return { oneOf: [all, { type: 'null' }], ...(description !== undefined && { description }) };
}

function withoutDefaults(schema: Schema): Schema {
  const properties = Object.entries(schema.properties as Record<string, Schema>).map(([name, property]) => {
    if (!isRecord(property) || !('default' in property)) return [name, property];
    const { default: value, description, ...rest } = property;
    const words = `Default: \`${JSON.stringify(value)}\``;
    return [name, { ...rest, description: typeof description === 'string' ? `${description}. ${words}` : words }];
  });
  return { ...schema, properties: Object.fromEntries(properties) as Schema };
}
