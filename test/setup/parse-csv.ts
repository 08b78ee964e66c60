/** Rows of a CSV file (RFC 4180) with a head line, by column. @throws Error for text that is not valid CSV */
export function parseCsv(text: string): Record<string, string>[] {
  const [head = [], ...rows] = rowsOf(text);
  return rows.map((row) => {
    if (row.length !== head.length) throw new Error(`A row has ${row.length} fields instead of ${head.length}`);
    return Object.fromEntries(head.map((name, index) => [name, row[index] ?? '']));
  });
}

const FIELD = /"((?:[^"]|"")*)"(,|\r\n)|([^",\r\n]*)(,|\r\n)/y;

function rowsOf(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  FIELD.lastIndex = 0;
  for (let at = 0; at < text.length; at = FIELD.lastIndex) {
    const match = FIELD.exec(text);
    if (!match) throw new Error(`No field of CSV at ${at}: ${text.slice(at, at + 40)}`);
    const [, quoted, quotedEnd, plain, plainEnd] = match;
    row.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if ((quotedEnd ?? plainEnd) === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
