import type { OpenAPIObject, ResponseObject } from '@nestjs/swagger';
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { listOperations, type Operation } from '../../src/openapi/document';

/** A response as a client has received it. */
export interface ReceivedResponse {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  /** Parsed JSON; undefined for any other type. */
  readonly body: unknown;
}

/** Statuses that the server itself gives, before a route is known. */
const OF_THE_SERVER: readonly number[] = [400, 404, 405, 408, 413, 417, 431, 503];
const ENVELOPE = '#/components/schemas/ErrorEnvelope';

/** Checks responses, and the examples, against the schemas of an OpenAPI document. */
export class ResponseSchemas {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly routes: { method: string; pattern: RegExp; operation: Operation }[];

  private readonly document: OpenAPIObject;

  constructor(document: OpenAPIObject) {
    this.document = closed(document) as OpenAPIObject;
    addFormats(this.ajv);
    // RFC 6531: letters of any script on both sides, which `email` does not allow.
    this.ajv.addFormat('idn-email', /^[^\s@]+@[^\s@]+$/);
    this.ajv.addSchema(this.document, 'api');
    this.routes = listOperations(document.paths).map(({ path, method, operation }) => ({
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`),
      operation,
    }));
  }

  /** What about the response is not as the document says; nothing when all is well. */
  problemsOf({ method, path, status, body }: ReceivedResponse): string[] {
    const called = `${method} ${path}: ${status}`;
    const operation = this.routes.find((route) => route.method === method && route.pattern.test(path))?.operation;
    const response = operation?.responses[String(status)] as ResponseObject | undefined;
    if (response) {
      const schema = response.content?.['application/json']?.schema;
      return schema && body !== undefined ? this.mismatches(schema, body, called) : [];
    }
    if (operation && !OF_THE_SERVER.includes(status)) return [`${called} is not documented`];
    return status >= 400 && body !== undefined ? this.mismatches({ $ref: ENVELOPE }, body, called) : [];
  }

  /** Examples that their own schemas refuse. */
  wrongExamples(): string[] {
    return listOperations(this.document.paths).flatMap(({ path, method, operation }) =>
      Object.entries(operation.responses).flatMap(([status, response]) => {
        const media = (response as ResponseObject).content?.['application/json'];
        const examples = Object.values(media?.examples ?? {}).map((example) => (example as { value: unknown }).value);
        if (media?.example !== undefined) examples.push(media.example);
        if (media && examples.length === 0) return [`${method} ${path} ${status} has no example`];
        return examples.flatMap((value) => this.mismatches(media?.schema ?? {}, value, `${method} ${path} ${status}`));
      }),
    );
  }

  private mismatches(schema: object, value: unknown, where: string): string[] {
    const validate = this.validatorOf(schema);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      `${where}${instancePath} ${message} ${(params.additionalProperty as string | undefined) ?? ''}`.trimEnd(),
    );
  }

  private validatorOf(schema: object): ValidateFunction {
    const key = JSON.stringify(schema);
    const known = this.validators.get(key) ?? this.ajv.compile(inDocument(schema));
    this.validators.set(key, known);
    return known;
  }
}

/** Clients must bear fields that later releases add to a response; this release sends none that its document does not name. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).map(([key, value]) => [key, /^examples?$/.test(key) ? value : closed(value)]);
  const schema = Object.fromEntries(entries) as Record<string, unknown>;
  const isOpen = schema.type === 'object' && 'properties' in schema && !('additionalProperties' in schema);
  return isOpen ? { ...schema, additionalProperties: false } : schema;
}

/** References of a part of the document, seen from outside of it. */
function inDocument(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object;
}
