import { METHODS, namesOf } from './operations.mjs';

/** Source text of the client's methods: one class for each resource, one method for each operation. */
export function generateResources(document) {
  const resources = new Map();
  for (const operation of operationsOf(document)) {
    const { resource } = operation;
    resources.set(resource, [...(resources.get(resource) ?? []), operation]);
  }
  const classes = [...resources].map(([resource, operations]) => classOf(resource, operations));
  const fields = [...resources.keys()].map((name) => `  readonly ${name}: ${className(name)};`);
  const assignments = [...resources.keys()].map((name) => `    this.${name} = new ${className(name)}(core);`);
  const table = [...resources.values()]
    .flat()
    .map(
      ({ id, resource, name, method, path }) =>
        `  '${id}': { resource: '${resource}', name: '${name}', method: '${method}', path: '${path}' },`,
    );
  return `// Generated from the OpenAPI document by \`npm run build:sdk\`.
import type { Core, RequestOptions } from '../core.js';
import type { Download } from '../download.js';
import { itemsOf } from '../pages.js';
import type { Body, Item, Query, Result, WithReact } from '../types.js';

${classes.join('\n\n')}

/** Everything that the API serves below /v1. */
export class Resources {
${fields.join('\n')}

  constructor(core: Core) {
${assignments.join('\n')}
  }
}

/** Where each operation of the document is found. */
export const OPERATIONS = {
${table.join('\n')}
} as const;
`;
}

function operationsOf({ paths, components: { schemas } }) {
  const described = Object.entries(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).map((method) => [
        describe(path, method.toUpperCase(), item[method]),
        item[method],
      ]),
    );
  for (const [{ isPaged }, operation] of described) if (isPaged) requireItems(operation, schemas);
  return described.map(([operation]) => operation);
}

/** Where `itemsOf` looks for the items of a page: elsewhere it would find none, without a word. */
const LISTS = ['data', 'requests', 'domains'];

function requireItems({ operationId, responses }, schemas) {
  const resolved = (schema = {}) => (schema.$ref ? schemas[schema.$ref.split('/').at(-1)] : schema);
  const page = resolved(responses[200].content['application/json'].schema).properties;
  const fields = { ...resolved(page.data).properties, ...page };
  if (LISTS.some((name) => resolved(fields[name]).type === 'array')) return;
  throw new Error(`The client finds no items in the pages of ${operationId}: say in sdk/src/pages.ts where they are`);
}

function describe(path, method, operation) {
  const { parameters = [], requestBody, operationId: id } = operation;
  const queries = parameters.filter((parameter) => parameter.in === 'query');
  return {
    ...namesOf(id),
    ...{ id, path, method },
    params: parameters
      .filter((parameter) => parameter.in === 'path')
      .map(({ name, schema }) => ({ name, type: schema?.type === 'integer' ? 'number | string' : 'string' })),
    query: queries.length === 0 ? 'none' : queries.some(({ required }) => required) ? 'required' : 'optional',
    body: requestBody === undefined ? 'none' : requestBody.required === false ? 'optional' : 'required',
    isKeyed: parameters.some((parameter) => parameter.in === 'header' && /^x-idempotency-key$/i.test(parameter.name)),
    isPaged: queries.some(({ name }) => ['page', 'cursor', 'offset', 'after'].includes(name)),
    isFeed: queries.some(({ name }) => name === 'after'),
    files: filesOf(operation.responses[200]),
    summary: [operation.summary, `${method} ${path}`].filter(Boolean).join(': '),
  };
}

/** The forms beside JSON: `readExport` is a zip file as `readExportZip`. */
function filesOf({ content = {} } = {}) {
  const types = Object.keys(content);
  if (!types.includes('application/json')) return [];
  return types
    .filter((type) => type !== 'application/json')
    .map((type) => ({ type, suffix: className(type.slice(type.indexOf('/') + 1)) }));
}

function classOf(resource, operations) {
  return `export class ${className(resource)} {
  constructor(private readonly core: Core) {}

${operations.map(methodOf).join('\n\n')}
}`;
}

function methodOf(operation) {
  const { id, name, method, path, summary, isKeyed, isPaged, isFeed } = operation;
  const type = `'${id}'`;
  const url = path.replace(/\{(\w+)\}/g, (_match, param) => `\${encodeURIComponent(${param})}`);
  const call = [
    `method: '${method}'`,
    `path: \`${url}\``,
    ...(operation.query === 'none' ? [] : ['query']),
    ...(operation.body === 'none' ? [] : ['body']),
    ...(isKeyed ? ['isKeyed: true'] : []),
  ].join(', ');
  const result = `  /** ${summary} */
  ${name}(${parametersOf(operation, type)}): Promise<Result<${type}>> {
    return this.core.call({ ${call} }, options);
  }`;
  const downloads = operation.files.map(
    (file) => `  /** As a file, \`${file.type}\`. ${summary} */
  ${name}${file.suffix}(${parametersOf(operation, type)}): Promise<Download> {
    return this.core.download({ ${call}, accept: '${file.type}' }, options);
  }`,
  );
  const own = [result, ...downloads].join('\n\n');
  if (!isPaged) return own;
  const forwarded = [
    ...operation.params.map((param) => param.name),
    '{ ...query, ...page } as Query<' + type + '>',
    'options',
  ].join(', ');
  return `${own}

  /** Every item, page by page. ${summary} */
  ${name}All(${parametersOf(operation, type)}): AsyncGenerator<Item<${type}>, void, undefined> {
    return itemsOf((page) => this.${name}(${forwarded}), query${isFeed ? ", 'after'" : ''});
  }`;
}

function parametersOf({ params, query, body }, type) {
  return [
    ...params.map(({ name, type: kind }) => `${name}: ${kind}`),
    ...(body === 'none'
      ? []
      : [body === 'required' ? `body: WithReact<Body<${type}>>` : `body?: WithReact<Body<${type}>>`]),
    ...(query === 'none' ? [] : [query === 'required' ? `query: Query<${type}>` : `query?: Query<${type}>`]),
    'options?: RequestOptions',
  ].join(', ');
}

function className(resource) {
  return resource.charAt(0).toUpperCase() + resource.slice(1);
}
