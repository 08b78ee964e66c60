import type { OpenAPIObject } from '@nestjs/swagger';
import { exampleOf } from './examples';
import { closeRequests, normalizeSchemas, type Schema } from './document';

function documentOf(schemas: Record<string, Schema>): OpenAPIObject {
  return { openapi: '3.1.0', info: { title: 'Test', version: '1' }, paths: {}, components: { schemas } };
}

function normalized(property: Schema): unknown {
  const { components } = normalizeSchemas(documentOf({ A: { type: 'object', properties: { field: property } } }));
  return (components?.schemas?.A as Schema & { properties: { field: unknown } }).properties.field;
}

describe('normalizeSchemas', () => {
  it.each([
    [
      { type: 'string', format: 'date-time', nullable: true },
      { type: ['string', 'null'], format: 'date-time' },
    ],
    [{ type: 'string', nullable: false }, { type: 'string' }],
    [
      { allOf: [{ $ref: '#/components/schemas/B' }], nullable: true, description: 'Why' },
      { oneOf: [{ $ref: '#/components/schemas/B' }, { type: 'null' }], description: 'Why' },
    ],
    [
      { type: 'integer', default: 3 },
      { type: 'integer', description: 'Default: `3`' },
    ],
    [
      { enum: ['a'], default: 'a', description: 'Kind' },
      { enum: ['a'], description: 'Kind. Default: `"a"`' },
    ],
    [
      { type: 'object', example: { nullable: true } },
      { type: 'object', example: { nullable: true } },
    ],
  ])('makes of %j %j', (property, expected) => {
    expect(normalized(property)).toEqual(expected);
  });

  it('leaves its input alone', () => {
    const document = documentOf({ A: { type: 'string', nullable: true } });
    const before = structuredClone(document);
    normalizeSchemas(document);
    expect(document).toEqual(before);
  });
});

describe('closeRequests', () => {
  it('closes what is sent only, with what that refers to', () => {
    const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const made = (field: Schema) => ({ type: 'object', properties: { field } });
    const document = documentOf({
      ...{
        Sent: made({ type: 'array', items: refTo('Part') }),
        Part: made(refTo('Both')),
        Both: made({ type: 'string' }),
      },
      ...{ Returned: made(refTo('Both')), Kind: { type: 'string' } },
    });
    const json = (schema: Schema) => ({ content: { 'application/json': { schema } } });
    const responses = { 200: { description: 'Done', ...json(refTo('Returned')) } };
    document.paths = { '/a': { post: { requestBody: json({ oneOf: [refTo('Sent'), refTo('Kind')] }), responses } } };
    const { schemas } = closeRequests(document).components ?? {};
    const closed = Object.entries(schemas ?? {}).filter(([, schema]) => 'additionalProperties' in schema);
    expect(closed.map(([name]) => name)).toEqual(['Sent', 'Part']);
    expect(schemas).toMatchObject({ Sent: { additionalProperties: false }, Both: made({ type: 'string' }) });
  });
});

describe('exampleOf', () => {
  const document = documentOf({
    Kind: { type: 'string', enum: ['one', 'two'] },
    Thing: {
      type: 'object',
      required: ['kind', 'count'],
      properties: {
        kind: { $ref: '#/components/schemas/Kind' },
        count: { type: 'integer', minimum: 1 },
        shown: { type: 'string', example: 'as given' },
        hidden: { type: 'string' },
      },
    },
  });

  it.each([
    [{ $ref: '#/components/schemas/Thing' }, { kind: 'one', count: 1, shown: 'as given' }],
    [{ type: 'array', items: { $ref: '#/components/schemas/Kind' } }, ['one']],
    [{ type: ['string', 'null'], format: 'uuid' }, expect.stringMatching(/^[0-9a-f-]{36}$/)],
    [{ oneOf: [{ $ref: '#/components/schemas/Kind' }, { type: 'null' }] }, 'one'],
    [{ type: 'boolean' }, true],
  ])('of %j is %j', (schema, example) => {
    expect(exampleOf(document, schema)).toEqual(example);
  });
});
