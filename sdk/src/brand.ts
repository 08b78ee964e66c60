const symbols = new Map<Function, symbol>();

/**
 * Makes `instanceof` and `isWaybillError` know the objects of another copy of this package: a program that imports it, with a
 * library that requires it, has two, whose classes are not the same.
 */
export function brand(type: Function, name: string): void {
  const symbol = Symbol.for(`@waybill/client ${name}`);
  symbols.set(type, symbol);
  Object.defineProperty(type.prototype, symbol, { value: true });
}

/** For `Symbol.hasInstance`. A class that a program derives has no brand, and is known as usual. */
export function isBranded(type: Function, value: unknown): boolean {
  const symbol = symbols.get(type);
  if (symbol === undefined) return Function.prototype[Symbol.hasInstance].call(type, value);
  return typeof value === 'object' && value !== null && symbol in value;
}
