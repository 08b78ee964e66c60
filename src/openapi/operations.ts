import type { OpenAPIObject, OperationObject, PathItemObject } from '@nestjs/swagger';

/** One route of the document, with the scope of its `@RequireScope`. */
export type Operation = OperationObject & { 'x-required-scope'?: string };

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;
type Method = (typeof METHODS)[number];

/** Whether the route needs no key: `@Public()` adds an empty security requirement, which overrides a scope, as in the guards. */
export function isPublic({ security = [] }: OperationObject): boolean {
  return security.some((requirement) => Object.keys(requirement).length === 0);
}

/** A copy of the paths in which `change` has replaced every operation. */
export function mapOperations(
  paths: OpenAPIObject['paths'],
  change: (operation: Operation) => Operation,
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

function mapItem(item: PathItemObject, change: (operation: Operation) => Operation): PathItemObject {
  const changed = METHODS.flatMap((method) => {
    const operation = item[method];
    return operation ? [[method, change(operation)]] : [];
  });
  return { ...item, ...(Object.fromEntries(changed) as PathItemObject) };
}
