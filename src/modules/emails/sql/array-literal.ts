/**
 * A Postgres array literal of texts, for arrays that travel as one element of an `unnest`ed array (unnest would flatten
 * a two-dimensional one). Null stays null.
 */
export function arrayLiteral(values: readonly string[] | undefined): string | null {
  if (values === undefined || values.length === 0) return null;
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
