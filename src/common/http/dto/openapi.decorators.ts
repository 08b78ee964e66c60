import { applyDecorators, Param, type PipeTransform, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath, type MediaTypeObject, type SchemaObject } from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode, NotFoundError } from '../../errors/app-error';
import { isUuid } from '../../ids';
import { ErrorEnvelopeDto } from './envelope.dto';

type Decorator = MethodDecorator & ClassDecorator;

interface DataOptions {
  readonly status?: number;
  readonly isArray?: boolean;
  readonly description?: string;
  /** Media types of files in which a client may have the same, by its `Accept`. */
  readonly files?: readonly string[];
}

/** Documents `{data: Model}`. */
export function ApiData(model: Type, options: DataOptions = {}): Decorator {
  const item = { $ref: getSchemaPath(model) };
  const schema: SchemaObject = {
    type: 'object',
    required: ['data'],
    properties: { data: options.isArray ? { type: 'array', items: item } : item },
  };
  const file: MediaTypeObject = { schema: { type: 'string', format: 'binary' } };
  const files = Object.fromEntries((options.files ?? []).map((type) => [type, file]));
  return applyDecorators(
    ApiExtraModels(model),
    ApiResponse({
      status: options.status ?? 200,
      description: options.description ?? 'Success',
      content: { 'application/json': { schema }, ...files },
    }),
  );
}

const NEXT_CURSOR = { type: 'string', description: 'For the next page; left out on the last one' };

/** Documents `{data: Model[], total}`, `{data: Model[], total, nextCursor?}` or `{data: Model[], pagination}`. */
export function ApiList(model: Type, counter: 'total' | 'total and cursor' | Type): Decorator {
  const extra = typeof counter === 'string' ? [] : [counter];
  const counted =
    typeof counter === 'string' ? { total: { type: 'integer' } } : { pagination: { $ref: getSchemaPath(counter) } };
  const further = counter === 'total and cursor' ? { nextCursor: NEXT_CURSOR } : {};
  return applyDecorators(
    ApiExtraModels(model, ...extra),
    ApiResponse({
      status: 200,
      description: 'Success',
      schema: {
        type: 'object',
        required: ['data', ...Object.keys(counted)],
        properties: { data: { type: 'array', items: { $ref: getSchemaPath(model) } }, ...counted, ...further } as never,
      },
    }),
  );
}

/** Documents `{data: Model[], nextCursor?}`. */
export function ApiCursorList(model: Type): Decorator {
  return applyDecorators(
    ApiExtraModels(model),
    ApiResponse({
      status: 200,
      description: 'Success',
      schema: {
        type: 'object',
        required: ['data'],
        properties: { data: { type: 'array', items: { $ref: getSchemaPath(model) } }, nextCursor: NEXT_CURSOR },
      },
    }),
  );
}

/** The errors that every authenticated route can return. */
const ALWAYS: ErrorCode[] = [
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'account_suspended',
  'insufficient_permissions',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
];

/** Documents the error codes of a route, grouped by status, with those that every route has. */
export function ApiErrors(...codes: ErrorCode[]): Decorator {
  return documentErrors([...new Set([...codes, ...ALWAYS])]);
}

/** The same for a route of `/operator/v1`, whose keys belong to no organization. */
export function ApiOperatorErrors(...codes: ErrorCode[]): Decorator {
  return documentErrors([...new Set([...codes, ...ALWAYS.filter((code) => code !== 'account_suspended')])]);
}

/** The same for a route without a key. */
export function ApiPublicErrors(...codes: ErrorCode[]): Decorator {
  return documentErrors(codes);
}

/** Refers to the error envelope; the decorators here make sure that the document has it. */
export const ERROR_SCHEMA = { $ref: getSchemaPath(ErrorEnvelopeDto) };

/** Error codes of one status in words. */
export function describeErrors(codes: readonly ErrorCode[]): string {
  return codes.map((code) => `\`${code}\`: ${ERROR_CODES[code].summary}`).join('\n\n');
}

function documentErrors(codes: readonly ErrorCode[]): Decorator {
  const statuses = new Set(codes.map((code) => ERROR_CODES[code].status));
  const responses = [...statuses].map((status) =>
    ApiResponse({
      status,
      description: describeErrors(codes.filter((code) => ERROR_CODES[code].status === status)),
      schema: ERROR_SCHEMA,
    }),
  );
  return applyDecorators(ApiExtraModels(ErrorEnvelopeDto), ...responses);
}

/** A path id that is no UUID names nothing: 404, exactly like an unknown one. Returns it in lower case. */
class UuidPipe implements PipeTransform<string, string> {
  constructor(private readonly what: string) {}

  transform(value: string): string {
    if (!isUuid(value)) throw new NotFoundError(this.what);
    return value.toLowerCase();
  }
}

/** `@PathId('id', 'Email')`: a path id; the message of an id that is none is that of an unknown one. */
export function PathId(name: string, what: string): ParameterDecorator {
  return Param(name, new UuidPipe(what));
}
