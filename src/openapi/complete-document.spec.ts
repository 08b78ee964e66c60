import type { OpenAPIObject, ResponseObject } from '@nestjs/swagger';
import { completeDocument } from './complete-document';
import type { Operation } from './document';

const SUCCESS = { '200': { description: 'Success' } };

function complete(operation: Partial<Operation>, method: 'get' | 'post' = 'get'): Operation {
  const document: OpenAPIObject = {
    openapi: '3.1.0',
    info: { title: 'Test', version: '1' },
    paths: {
      '/things': { [method]: { tags: ['Emails'], security: [{ bearer: [] }], responses: SUCCESS, ...operation } },
    },
    components: { schemas: {} },
  };
  return completeDocument(document).paths['/things']?.[method] as Operation;
}

const headersOf = ({ responses }: Operation, status: string) =>
  Object.keys((responses[status] as ResponseObject).headers ?? {});

describe('completeDocument', () => {
  it('says the scope, or that none is needed', () => {
    const keyed = complete({ 'x-required-scope': 'email:read', description: 'Newest first.' });
    expect(keyed.description).toBe('Newest first.\n\nScope: `email:read`');
    expect(complete({ security: [{}] }).description).toBe('Needs no key.');
  });

  it('asks for the key once, and not where a route is public', () => {
    expect(complete({ security: [{ bearer: [] }, { bearer: [] }] }).security).toEqual([{ bearer: [] }]);
    const open = complete({ security: [{ bearer: [] }, {}], 'x-required-scope': 'email:read' });
    expect(open.security).toEqual([]);
    expect(open).not.toHaveProperty('x-required-scope');
  });

  it('adds the errors that follow from path, query and body', () => {
    const open = { security: [{}] };
    expect(Object.keys(complete(open).responses)).toEqual(['200', '405']);
    const byId = complete({ ...open, parameters: [{ name: 'id', in: 'path', schema: { type: 'string' } }] });
    expect(Object.keys(byId.responses)).toEqual(['200', '400', '404', '405']);
    expect(byId.parameters).toEqual([{ name: 'id', in: 'path', schema: { type: 'string', format: 'uuid' } }]);
    const search = complete({ ...open, parameters: [{ name: 'q', in: 'query' }] });
    expect(Object.keys(search.responses)).toEqual(['200', '400', '405']);
    const taking = complete({ ...open, requestBody: { content: {} } });
    expect(Object.keys(taking.responses)).toEqual(['200', '400', '405', '413', '415']);
  });

  it('adds the refusal of unknown query fields to every route with a key', () => {
    expect(Object.keys(complete({}).responses)).toEqual(['200', '400', '405']);
  });

  it('adds the refusals of a body to every route with a key that reads one, declared or not', () => {
    expect(Object.keys(complete({}, 'post').responses)).toEqual(['200', '400', '405', '413', '415']);
    expect(Object.keys(complete({ security: [{}] }, 'post').responses)).toEqual(['200', '405']);
  });

  it('keeps what a route says itself, and adds to it only what is missing', () => {
    const responses = {
      ...SUCCESS,
      '400': { description: '`invalid_request`: own words' },
      '413': { description: 'Too many things' },
    };
    const completed = complete({ requestBody: { content: {} }, responses }).responses;
    expect(completed['400']).toMatchObject({ description: '`invalid_request`: own words' });
    expect(completed['413']).toMatchObject({
      description: expect.stringMatching(/^Too many things\n\n`payload_too_large`/),
    });
  });

  it('documents the headers of each answer', () => {
    const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
    const statuses = ['401', '403', '429', '503'].map((status) => [status, { description: 'Error' }]);
    const keyed = complete({
      parameters: [{ name: 'X-Idempotency-Key', in: 'header' }],
      responses: {
        ...SUCCESS,
        ...Object.fromEntries(statuses),
        '409': { description: '`idempotency_in_progress`: …', headers: { Own: {} } },
        '422': { description: '`recipient_suppressed`: …' },
      },
    });
    expect(headersOf(keyed, '200')).toEqual(['X-Request-Id', ...limits, 'X-Test-Mode', 'Idempotent-Replayed']);
    expect(headersOf(keyed, '401')).toEqual(['X-Request-Id']);
    expect(headersOf(keyed, '403')).toEqual(['X-Request-Id', ...limits, 'X-Test-Mode']);
    expect(headersOf(keyed, '405')).toEqual(['X-Request-Id', 'Allow']);
    expect(headersOf(keyed, '409')).toEqual(['X-Request-Id', ...limits, 'X-Test-Mode', 'Retry-After', 'Own']);
    expect(headersOf(keyed, '422')).toEqual(['X-Request-Id', ...limits, 'X-Test-Mode', 'Idempotent-Replayed']);
    expect(headersOf(keyed, '429')).toContain('Retry-After');
    expect(headersOf(complete({ security: [{}] }), '200')).toEqual(['X-Request-Id']);
  });

  it('describes the tags in use, and leaves its input alone', () => {
    const document: OpenAPIObject = {
      openapi: '3.1.0',
      info: { title: 'Test', version: '1' },
      paths: { '/a': { get: { tags: ['Health'], responses: SUCCESS } }, '/b': { get: { responses: SUCCESS } } },
    };
    const before = structuredClone(document);
    expect(completeDocument(document).tags).toEqual([{ name: 'Health', description: expect.any(String) }]);
    expect(document).toEqual(before);
  });
});
