type Class = abstract new (...given: never[]) => object;

const symbols = new Map<Class, symbol>();

/**
 * Makes `instanceof` and `isWaybillError` know the objects of another copy of this package: a program that imports it, with a
 * library that requires it, has two, whose classes are not the same.
 */
export function brand(type: Class, name: string): void {
  const symbol = Symbol.for(`@waybill/client ${name}`);
  symbols.set(type, symbol);
  Object.defineProperty(type.prototype, symbol, { value: true });
}

/** For `Symbol.hasInstance`. A class that a program derives has no brand, and is known as usual. */
export function isBranded(type: Class, value: unknown): boolean {
  const symbol = symbols.get(type);
  if (symbol === undefined) return Function.prototype[Symbol.hasInstance].call(type, value);
  return typeof value === 'object' && value !== null && symbol in value;
}
