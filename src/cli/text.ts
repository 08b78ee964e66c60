type Row = Readonly<Record<string, unknown>>;

/** One value for people. Control characters, which a terminal would obey, become question marks. */
export function cell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (Array.isArray(value)) return value.length > 0 ? value.map(cell).join(',') : '-';
  if (value instanceof Date) return value.toISOString();
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replace(/\p{Cc}/gu, '?');
}

/** One record: a line for each property, the values below each other. */
export function fields(record: Row): string {
  return align(Object.entries(record).map(([name, value]) => [name, cell(value)]));
}

/** Records below each other under a heading; properties that only some have are shown as absent in the others. */
export function table(rows: readonly Row[]): string {
  if (rows.length === 0) return '(none)';
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return align([names, ...rows.map((row) => names.map((name) => cell(row[name])))]);
}

function align(lines: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const line of lines) {
    line.forEach((text, column) => (widths[column] = Math.max(widths[column] ?? 0, lengthOf(text))));
  }
  return lines
    .map((line) =>
      line
        .map((text, column) => pad(text, widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(width - lengthOf(text));
}

/** In code points: names may be in any script. */
function lengthOf(text: string): number {
  return [...text].length;
}
