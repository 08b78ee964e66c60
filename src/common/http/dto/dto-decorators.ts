import { Transform } from 'class-transformer';
import { ValidateBy, type ValidationArguments } from 'class-validator';
import { parseTimestamp, WITHIN_YEARS } from './timestamps';

/** Digits only: no sign, no blank, no exponent, no leading zero, although `Number()` accepts them. */
const INTEGER = /^(0|[1-9]\d{0,9})$/;

const BOOLEANS: ReadonlyMap<unknown, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/** An integer in a query string. Given twice, or written in any other way, it is refused. */
export function QueryInteger(min: number, max: number): PropertyDecorator {
  return converted(
    (value) => (typeof value === 'string' && INTEGER.test(value) ? Number(value) : value),
    (value) => typeof value === 'number' && value >= min && value <= max,
    `must be an integer from ${min} to ${max}`,
  );
}

/** `true` or `false` in a query string. */
export function QueryBoolean(): PropertyDecorator {
  return converted(
    (value) => BOOLEANS.get(value) ?? value,
    (value) => typeof value === 'boolean',
    'must be true or false',
  );
}

export const NULLABLE_METADATA = 'waybill:nullable';

/** In this property `null` takes a value away; in all others it counts as absent. For use with `@IsOptional()`. */
export function Nullable(): PropertyDecorator {
  return (target, key) => Reflect.defineMetadata(NULLABLE_METADATA, true, target, key);
}

/** The `+` of an offset that was not encoded has become a space on its way through a query string. */
const DECODED_PLUS = / (?=\d\d(?::?\d\d)?$)/;

/** A timestamp in a query or a body (see `parseTimestamp`); the property becomes a `Date`. */
export function Timestamp(): PropertyDecorator {
  return converted(
    (value) => parseTimestamp(typeof value === 'string' ? value.replace(DECODED_PLUS, '+') : value) ?? value,
    (value) => value instanceof Date,
    `must be an ISO 8601 timestamp with an offset, or a date, ${WITHIN_YEARS}`,
  );
}

function converted(
  convert: (value: unknown) => unknown,
  isValid: (value: unknown) => boolean,
  requirement: string,
): PropertyDecorator {
  const transform = Transform(({ value }: { value: unknown }) => convert(value));
  const validate = ValidateBy({
    name: 'converted',
    validator: {
      validate: isValid,
      defaultMessage: (args?: ValidationArguments) => `${args?.property ?? 'value'} ${requirement}`,
    },
  });
  return (target, key) => {
    transform(target, key);
    validate(target, key);
  };
}
