/**
 * An array parameter as Postgres reads it, of texts, ids, numbers, booleans, times and nulls; any other array is left to
 * the driver. One pass with one pattern per text: the driver's own way took a twentieth of an accept's time.
 */
export function arrayText(values: readonly unknown[]): string | undefined {
  let text = '';
  for (const value of values) {
    const element = elementText(value);
    if (element === undefined) return undefined;
    text += text === '' ? element : `,${element}`;
  }
  return `{${text}}`;
}

const SPECIAL = /["\\]/;
const ALL_SPECIAL = /["\\]/g;

function elementText(value: unknown): string | undefined {
  if (typeof value === 'string') return `"${SPECIAL.test(value) ? value.replace(ALL_SPECIAL, '\\$&') : value}"`;
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof Date) return `"${value.toISOString()}"`;
  return undefined;
}
