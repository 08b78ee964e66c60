import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationError as PropertyError, validateSync } from 'class-validator';
import { type FieldErrors, ValidationError } from '../../errors/app-error';
import { isRecord } from '../../values';
import { NULLABLE_METADATA } from './dto-decorators';
import { fieldPath, unknownFields } from '../../json/field-path';

/** For arrays that declare no `@ArrayMaxSize`. */
const MAX_ELEMENTS = 1_000;

/** Types that do not describe the shape; routes that declare them validate by themselves. */
const UNSHAPED: readonly unknown[] = [String, Number, Boolean, Array, Object, Date];

interface Plan {
  readonly properties: ReadonlySet<string>;
  /** Of those, the ones in which `null` takes a value away. */
  readonly nullable: ReadonlySet<string>;
  /** Declared `@ArrayMaxSize` by property. */
  readonly maxElements: ReadonlyMap<string, number>;
}

const plans = new WeakMap<Type, Plan>();

/**
 * Global pipe: turns a query or body into an instance of its declared class and validates it. Unknown fields are refused by
 * name; nothing is converted without a decorator; `null` counts as absent, unless the property is `@Nullable()`; the length of
 * an array is checked before its elements, because class-validator visits all of them even after `ArrayMaxSize` has failed.
 */
@Injectable()
export class DtoPipe implements PipeTransform {
  transform(value: unknown, { metatype, type }: ArgumentMetadata): unknown {
    if (type === 'custom' || metatype === undefined || UNSHAPED.includes(metatype)) return value;
    if (type === 'query') refuse(repeatedIn(planOf(metatype), value));
    return validateDto(metatype, value);
  }
}

/** @throws ValidationError naming every field that is wrong */
export function validateDto<T extends object>(dto: Type<T>, value: unknown): T {
  if (!isRecord(value)) throw new ValidationError({ body: ['must be a JSON object'] });
  const plan = planOf(dto);
  refuse(longArrays(plan, value));
  const given = Object.entries(value).filter(
    ([name, field]) => plan.properties.has(name) && (field !== null || plan.nullable.has(name)),
  );
  const instance = plainToInstance(dto, Object.fromEntries(given), { exposeDefaultValues: true });
  for (const child of Object.values(instance)) dropNulls(child);
  refuse({ ...unknownIn(plan, value), ...(plan.properties.size > 0 && problemsOf(instance)) });
  return instance;
}

/** Of nested instances and all below, as of the outermost. Plain objects are a client's own data. */
function dropNulls(value: unknown): void {
  if (Array.isArray(value)) return value.forEach(dropNulls);
  if (!isRecord(value)) return;
  // Not `value.constructor`, which a client can write.
  const { constructor: type } = (Object.getPrototypeOf(value) ?? {}) as object;
  if (UNSHAPED.includes(type)) return;
  const { properties, nullable } = planOf(type as Type);
  for (const [name, field] of Object.entries(value)) {
    if (field === null && properties.has(name) && !nullable.has(name)) delete value[name];
    else dropNulls(field);
  }
}

function refuse(errors: FieldErrors): void {
  if (Object.keys(errors).length > 0) throw new ValidationError(errors);
}

function unknownIn({ properties }: Plan, value: Record<string, unknown>): FieldErrors {
  const unknown = unknownFields(value, properties);
  return Object.fromEntries(unknown.map(([name, message]) => [fieldPath([name]), [`${fieldPath([name])} ${message}`]]));
}

/** A query is read into an array where a name stands twice. None of ours takes several values. */
function repeatedIn({ properties }: Plan, query: unknown): FieldErrors {
  const repeated = Object.entries(query ?? {}).filter(([name, value]) => properties.has(name) && Array.isArray(value));
  return Object.fromEntries(repeated.map(([name]) => [name, [`${name} must be given once`]]));
}

function longArrays({ maxElements }: Plan, value: Record<string, unknown>): FieldErrors {
  const errors: FieldErrors = {};
  for (const [name, field] of Object.entries(value)) {
    const max = maxElements.get(name) ?? MAX_ELEMENTS;
    if (Array.isArray(field) && field.length > max) {
      errors[name] = [`${name} must contain no more than ${max} elements`];
    }
  }
  return errors;
}

function problemsOf(instance: object): FieldErrors {
  const errors: FieldErrors = {};
  const found = validateSync(instance, {
    whitelist: true,
    forbidNonWhitelisted: true,
    validationError: { target: false, value: false },
  });
  for (const error of found) collect(error, [], errors);
  return errors;
}

function collect(error: PropertyError, above: readonly (string | number)[], into: FieldErrors): void {
  const segment = above.length > 0 && /^\d+$/.test(error.property) ? Number(error.property) : error.property;
  const path = [...above, segment];
  if (error.constraints) into[fieldPath(path)] = [plainly(mostHelpful(error.constraints, fieldPath(path)))];
  for (const child of error.children ?? []) collect(child, path, into);
}

/** Sentences of class-validator that read badly, and what is said instead. */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/^All (.+)'s elements must be unique$/, '$1 must name nothing twice'],
  [
    /must be longer than or equal to (\d+) and shorter than or equal to (\d+) characters$/,
    'must have $1 to $2 characters',
  ],
  [/must be longer than or equal to 1 characters$/, 'must not be empty'],
  [/must contain at least 1 elements$/, 'must not be empty'],
  [/must be longer than or equal to (\d+) characters$/, 'must have at least $1 characters'],
  [/must be shorter than or equal to (\d+) characters$/, 'must have at most $1 characters'],
  [/must not be less than (\S+)$/, 'must be at least $1'],
  [/must not be greater than (\S+)$/, 'must be at most $1'],
  [/must be a boolean value$/, 'must be true or false'],
  [/must be an integer number$/, 'must be an integer'],
  [/must be equal to (\S+)$/, 'must be $1'],
  [/^each value in (.+) must be one of the following values: /, 'each value in $1 must be one of '],
  [/must be one of the following values: /, 'must be one of '],
];

function plainly(message: string): string {
  const [pattern, plain] = PLAIN.find(([text]) => text.test(message)) ?? [];
  return pattern && plain !== undefined ? message.replace(pattern, plain) : message;
}

/** Rules about length, size or spelling; a value of the wrong type breaks most of them too. */
const SECOND_RULES = /length|min|max|size|unique|matches|empty/i;

/** One message for a field: what it should be at all, before how long or how large. */
function mostHelpful(constraints: Record<string, string>, path: string): string {
  if (constraints.whitelistValidation !== undefined) return `${path} is not a known field`;
  // What its elements should be is no help for a value that has none.
  if (constraints.isArray !== undefined) return constraints.isArray;
  const kind = Object.keys(constraints).find((rule) => !SECOND_RULES.test(rule));
  return constraints[kind ?? ''] ?? Object.values(constraints)[0] ?? `${path} is not valid`;
}

function planOf(dto: Type): Plan {
  const known = plans.get(dto);
  if (known) return known;
  const metadatas = getMetadataStorage().getTargetValidationMetadatas(dto, '', true, false);
  const bounds = metadatas.filter(({ name }) => name === 'arrayMaxSize');
  const properties = new Set(metadatas.map(({ propertyName }) => propertyName));
  const isNullable = (name: string) => Reflect.hasMetadata(NULLABLE_METADATA, dto.prototype as object, name);
  const plan: Plan = {
    properties,
    nullable: new Set([...properties].filter(isNullable)),
    maxElements: new Map(bounds.map(({ propertyName, constraints }) => [propertyName, Number(constraints[0])])),
  };
  plans.set(dto, plan);
  return plan;
}
