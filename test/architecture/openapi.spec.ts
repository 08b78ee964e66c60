import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { getMetadataStorage } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { ALL_OPERATOR_SCOPES, ALL_SCOPES } from '../../src/common/http/scopes';
import { EVENT_TYPES } from '../../src/common/event-types';
import { ERROR_CODES } from '../../src/common/errors/app-error';
import { buildOpenApiDocument } from '../../src/openapi/docs';
import { listOperations, type Operation } from '../../src/openapi/document';
import { SEND_RAW_FIELDS } from '../../src/modules/emails/accept/send-raw.service';
import { SEND_REQUEST_FIELDS } from '../../src/modules/emails/accept/request/parse-send-request';
import { ResponseSchemas } from '../setup/response-schemas';
import { version } from '../../package.json';
import { type ApiRoute, createApp, findControllers, routesOf } from './api-routes';
import { compileErrors, generateTypes } from './generated-client';
import { documentProblems, isSuccess, modelProblems } from './openapi-rules';

const controllers = findControllers();
const routes = controllers.flatMap(routesOf);
const documented = routes.filter((route) => !route.excluded);
/** What a client in TypeScript writes: nullable fields, optional ones, request fields that have a default. */
const CLIENT = `
  import type { components, operations, webhooks } from './api';
  const email: components['schemas']['SendEmail'] = { to: ['ada@example.com'], subject: 'Hello' };
  const domain: Pick<components['schemas']['Domain'], 'verified_at' | 'warming_current_limit'> = {
    verified_at: null,
    warming_current_limit: 50,
  };
  type Page = NonNullable<operations['emails.list']['parameters']['query']>;
  const page: Page = {};
  type Delivered = webhooks['email.delivered']['post']['requestBody']['content']['application/json'];
  const typeOf = (event: Delivered): 'email.delivered' => event.type;
  export const all = [email, domain, page, typeOf];
`;

/** The errors that every route with a key can return. */
const KEYED_STATUSES = [401, 403, 429, 500, 503];

describe('the rules of requests', () => {
  it('say in words what a text must look like, not by their regular expressions', () => {
    const storage = getMetadataStorage() as unknown as { validationMetadatas: Map<object, ValidationMetadata[]> };
    const patterns = [...storage.validationMetadatas.values()].flat().filter(({ name }) => name === 'matches');
    expect(patterns.length).toBeGreaterThan(5);
    expect(patterns.filter(({ message }) => message === undefined).map(({ propertyName }) => propertyName)).toEqual([]);
  });
});

describe('the API documentation', () => {
  let app: NestExpressApplication;
  let document: OpenAPIObject;
  const warnings: unknown[] = [];

  const operationOf = ({ path, method }: ApiRoute): Operation | undefined =>
    listOperations(document.paths).find((found) => found.path === path && found.method === method)?.operation;
  /** The names of the routes for which something is not as it should be. */
  const failing = (from: ApiRoute[], isWell: (route: ApiRoute, operation: Operation) => boolean): string[] =>
    from.filter((route) => !isWell(route, operationOf(route) ?? { responses: {} })).map(({ name }) => name);

  beforeAll(async () => {
    app = await createApp(controllers);
    const warn = jest.spyOn(Logger, 'warn').mockImplementation((message) => void warnings.push(message));
    document = buildOpenApiDocument(app);
    warn.mockRestore();
  });

  it('is OpenAPI 3.1 and holds together', () => {
    expect(document.info).toMatchObject({ title: 'Waybill', version });
    expect(document.servers).toEqual([{ url: '/' }]);
    expect(documentProblems(document)).toEqual([]);
  });

  it('describes every field of every model, under one name each', () => {
    expect(modelProblems(document)).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('names models in the words of the API, not by its classes', () => {
    const names = Object.keys(document.components?.schemas ?? {});
    expect(names).toContain('Domain');
    expect(names.filter((name) => /Dto|Query|Answer$/.test(name))).toEqual([]);
  });

  it('has an example for each response, which its schema allows', () => {
    expect(new ResponseSchemas(document).wrongExamples()).toEqual([]);
  });

  it('holds responses against their schemas', () => {
    const schemas = new ResponseSchemas(document);
    const list = { method: 'GET', path: '/v1/domains', status: 200 };
    expect(schemas.problemsOf({ ...list, body: { data: [], total: 0 } })).toEqual([]);
    expect(schemas.problemsOf({ ...list, body: { data: 1 } })).toHaveLength(2);
    expect(schemas.problemsOf({ ...list, status: 418, body: {} })).toEqual(['GET /v1/domains: 418 is not documented']);
    expect(schemas.problemsOf({ ...list, path: '/nowhere', status: 404, body: {} })).toHaveLength(1);
  });

  it('passes the strict rules of a linter', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] });
    const found = await lintFromString({ source: JSON.stringify(document), config });
    const problems = found.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`);
    // The one route whose success is a redirect.
    expect(problems).toEqual(['operation-2xx-response #/paths/~1t~1c~1{token}/get/responses']);
  });

  it('makes a client that compiles, with the types that the API has', async () => {
    const source = await generateTypes(document);
    const wrong = CLIENT.replace('verified_at: null', 'verified_at: []');
    expect(compileErrors(source, { 'client.ts': CLIENT, 'wrong.ts': wrong })).toEqual({
      'wrong.ts': [expect.stringContaining("Type 'never[]' is not assignable to type 'string'")],
    });
  });

  it('describes what webhooks receive', () => {
    const types = [...EVENT_TYPES.map((type) => `email.${type}`), 'inbound.received', 'webhook.test'];
    expect(Object.keys(document.webhooks ?? {})).toEqual(types);
  });

  it('is the same each time it is built', () => {
    expect(buildOpenApiDocument(app)).toEqual(document);
  });

  it('lists every error code and every scope', () => {
    for (const name of [...Object.keys(ERROR_CODES), ...ALL_SCOPES, ...ALL_OPERATOR_SCOPES]) {
      expect(document.info.description).toContain(`| \`${name}\` |`);
    }
  });

  it('describes the send request that the parser takes', () => {
    const model = document.components?.schemas?.SendEmail as { properties: object };
    expect(Object.keys(model.properties).sort()).toEqual([...SEND_REQUEST_FIELDS].sort());
    const raw = document.components?.schemas?.SendRaw as { properties: object };
    expect(Object.keys(raw.properties).sort()).toEqual([...SEND_RAW_FIELDS].sort());
  });

  it('names every form in which an export can be downloaded', () => {
    const response = document.paths['/v1/gdpr/export/{requestId}']?.get?.responses['200'] as ResponseObject;
    expect(Object.keys(response.content ?? {})).toEqual(['application/json', 'text/csv', 'application/zip']);
  });

  it('says between which bounds a number in a query has to be', () => {
    const unbounded = listOperations(document.paths).flatMap(({ path, operation }) =>
      (operation.parameters ?? []).flatMap((parameter) => {
        if ('$ref' in parameter || parameter.in !== 'query') return [];
        const { type, minimum, maximum } = (parameter.schema ?? {}) as SchemaObject;
        return type !== 'integer' || (minimum !== undefined && maximum !== undefined) ? [] : [path, parameter.name];
      }),
    );
    expect(unbounded).toEqual([]);
  });

  describe('of every route', () => {
    it('has controllers to look at', () => {
      expect(controllers.length).toBeGreaterThan(3);
      expect(listOperations(document.paths)).toHaveLength(documented.length);
    });

    it('says who may call it: a scope, or everyone', () => {
      const declares = ({ scope, isPublic, isOperators }: ApiRoute) =>
        isPublic || (isOperators ? ALL_OPERATOR_SCOPES : ALL_SCOPES).includes(scope as never);
      expect(failing(routes, declares)).toEqual([]);
      expect(
        failing(documented, ({ scope, isPublic }, operation) => {
          const shown = isPublic ? 'Needs no key.' : `Scope: \`${scope}\``;
          return operation.description?.endsWith(shown) === true && operation.security?.length === (isPublic ? 0 : 1);
        }),
      ).toEqual([]);
    });

    it('is under /operator/v1 when it is for operators, and only then', () => {
      expect(failing(routes, ({ path, isOperators }) => path.startsWith('/operator/') === isOperators)).toEqual([]);
    });

    it('hides none that needs a key', () => {
      expect(failing(routes, ({ excluded, isPublic }) => isPublic || !excluded)).toEqual([]);
    });

    it('has a summary', () => {
      expect(failing(documented, (_route, { summary }) => (summary ?? '').length > 0)).toEqual([]);
    });

    it('has a described success', () => {
      const succeeds = (_route: ApiRoute, { responses }: Operation) =>
        Object.entries(responses).some(([status, response]) => isSuccess(status, response as ResponseObject));
      expect(failing(documented, succeeds)).toEqual([]);
    });

    it('has described errors', () => {
      const fails = ({ isPublic, documentedStatuses }: ApiRoute) =>
        isPublic
          ? documentedStatuses.some((status) => status >= 400)
          : KEYED_STATUSES.every((status) => documentedStatuses.includes(status));
      expect(failing(documented, fails)).toEqual([]);
    });

    it('has the errors and headers that follow from its kind', () => {
      expect(
        failing(documented, ({ path, isPublic }, { requestBody, responses }) => {
          const headers = (status: string) => Object.keys((responses[status] as ResponseObject).headers ?? {});
          const expected = [
            '405',
            ...(path.includes('{') ? ['404'] : []),
            ...(requestBody ? ['400', '413', '415'] : []),
          ];
          return (
            expected.every((status) => status in responses) &&
            Object.keys(responses).every((status) => headers(status).includes('X-Request-Id')) &&
            headers('405').includes('Allow') &&
            (isPublic || ['Retry-After', 'X-RateLimit-Reset'].every((name) => headers('429').includes(name)))
          );
        }),
      ).toEqual([]);
    });
  });
});
