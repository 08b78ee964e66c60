import type { OpenAPIObject, OperationObject } from '@nestjs/swagger';
import { documentProblems, isSuccess, modelProblems } from './openapi-rules';

const OPERATION: OperationObject = {
  operationId: 'things.read',
  tags: ['Things'],
  security: [{ bearer: [] }],
  parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
  responses: { '200': { description: 'Success', content: { 'application/json': { schema: { type: 'string' } } } } },
};

function documentOf(change: Partial<OperationObject>, more: Partial<OpenAPIObject> = {}): OpenAPIObject {
  return {
    openapi: '3.1.0',
    info: { title: 'Test', version: '1' },
    tags: [{ name: 'Things' }],
    paths: { '/things/{id}': { get: { ...OPERATION, ...change } } },
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    ...more,
  };
}

const refers = { '200': { description: 'x', content: { 'text/x': { schema: { $ref: '#/components/schemas/No' } } } } };

describe('the OpenAPI rules', () => {
  it('find nothing wrong with a good document', () => {
    expect(documentProblems(documentOf({}))).toEqual([]);
  });

  it.each<[string, Partial<OperationObject>, Partial<OpenAPIObject>]>([
    ['3.0.0 is not version 3.1', {}, { openapi: '3.0.0' }],
    ['#/components/schemas/No is missing', { responses: refers }, {}],
    ['path and path parameters differ', { parameters: [] }, {}],
    ['a path parameter is not required', { parameters: [{ name: 'id', in: 'path', schema: { type: 'string' } }] }, {}],
    ['id has no schema', { parameters: [{ name: 'id', in: 'path', required: true }] }, {}],
    ['operationId Things_read', { operationId: 'Things_read' }, {}],
    ['unknown security scheme basic', { security: [{ basic: [] }] }, {}],
    ['needs one tag', { tags: [] }, {}],
    ['tag Other is not described', { tags: ['Other'] }, {}],
    ['200 is not described', { responses: { '200': { description: '' } } }, {}],
    ['status 2xx', { responses: { '2xx': { description: 'x' } } }, {}],
    ['200 text/x has no schema', { responses: { '200': { description: 'x', content: { 'text/x': {} } } } }, {}],
    [
      'things.read is there twice',
      {},
      { paths: { '/things/{id}': { get: OPERATION }, '/others/{id}': { get: OPERATION } } },
    ],
    ['/things/{} is there twice', {}, { paths: { '/things/{id}': { get: OPERATION }, '/things/{name}': {} } }],
  ])('notice: %s', (problem, change, more) => {
    expect(documentProblems(documentOf(change, more))).toContainEqual(expect.stringContaining(problem));
  });

  it.each<[string, object]>([
    ['Thing.a has the type ', { type: 'object', properties: { a: {} } }],
    ['Thing.a is an empty object', { type: 'object', properties: { a: { type: 'object' } } }],
    ['Thing.a[] has no schema', { type: 'object', properties: { a: { type: 'array' } } }],
    ['Thing.a is nullable', { type: 'object', properties: { a: { type: 'string', nullable: true } } }],
    ['Thing requires b', { type: 'object', properties: { a: { type: 'string' } }, required: ['b'] }],
    ['Thing lists true, which is no string', { type: 'string', enum: ['a', true] }],
    ['Thing has a type beside oneOf', { type: 'object', oneOf: [{ type: 'string' }] }],
    ['Thing/oneOf/0 has the type ', { oneOf: [{}] }],
    ['Thing has a type beside its reference', { type: 'object', $ref: '#/components/schemas/Thing' }],
    ['Thing.* has the type ', { type: 'object', additionalProperties: {} }],
  ])('notice of a model: %s', (problem, schema) => {
    const document = documentOf({}, { components: { schemas: { Thing: schema } } });
    expect(modelProblems(document)).toContainEqual(expect.stringContaining(problem));
  });

  it('recognize a success', () => {
    const content = { 'application/json': { schema: { type: 'string' } } };
    expect(isSuccess('200', { description: 'x', content })).toBe(true);
    expect(isSuccess('302', { description: 'x' })).toBe(true);
    expect(isSuccess('204', { description: 'x' })).toBe(true);
    expect(isSuccess('200', { description: 'x' })).toBe(false);
    expect(isSuccess('400', { description: 'x', content })).toBe(false);
  });
});
