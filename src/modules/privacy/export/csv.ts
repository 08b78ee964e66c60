/** A spreadsheet takes what begins with these for a formula (OWASP, CSV injection). */
const FORMULA = /^[=+\-@\t\r\n]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** A line of RFC 4180 with its end. A field that a spreadsheet would run is put behind an apostrophe. */
export function csvLine(fields: readonly string[]): string {
  return `${fields.map(csvField).join(',')}\r\n`;
}

function csvField(field: string): string {
  const harmless = FORMULA.test(field) ? `'${field}` : field;
  return NEEDS_QUOTES.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
