/** Any JSON value, as far as variables go. */
type Value = { [name: string]: unknown };

const isObject = (value: unknown): value is Value =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Sets a property of its own, whatever its name: `__proto__` would otherwise reach what all objects of the page share. */
function put(place: Value, name: string, value: unknown): void {
  Object.defineProperty(place, name, { value, enumerable: true, configurable: true, writable: true });
}

const own = (place: Value, name: string): unknown => (Object.hasOwn(place, name) ? place[name] : undefined);

/**
 * A value for each variable: `order.number` becomes `{ order: { number: 'number' } }`.
 * @param given what is there already and stays; it is filled
 */
export function example(variables: readonly string[], given: Value = {}): Value {
  for (const variable of variables) fill(given, variable.split('.'));
  return given;
}

function fill(whole: Value, names: readonly string[]): void {
  let place = whole;
  for (const [index, name] of names.entries()) {
    const known = own(place, name);
    const isLast = index === names.length - 1;
    if (isLast && known === undefined) put(place, name, name);
    if (isLast) return;
    // Of an example, a name that has parts is an object; what the user has written stays.
    if (isObject(known)) {
      place = known;
      continue;
    }
    if (known !== undefined && known !== name) return;
    const inner: Value = {};
    put(place, name, inner);
    place = inner;
  }
}

/** The text of the variables with what a new version has besides; as it is while it is no JSON object. */
export function withMissing(text: string, variables: readonly string[]): string {
  try {
    const given: unknown = JSON.parse(text);
    return isObject(given) ? JSON.stringify(example(variables, given), null, 2) : text;
  } catch {
    return text;
  }
}
