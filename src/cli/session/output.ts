import { describeReport, type ErrorReport } from './cli-error';

export interface TextStream {
  write(text: string): unknown;
}

/** What a command has to say: the same in both forms. */
export interface Report {
  readonly json: unknown;
  readonly text: string;
}

/**
 * The one place that writes. Results go to standard output, all else to standard error. With `--json` the result is one
 * JSON value, an error is one JSON line, and nothing else is said.
 */
export class Output {
  constructor(
    readonly json: boolean,
    private readonly stdout: TextStream,
    private readonly stderr: TextStream,
  ) {}

  /** The process's own streams. A reader that has gone away (`waybill org list | head -1`) is no reason to crash. */
  static ofProcess(this: void, json: boolean): Output {
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
    return new Output(json, process.stdout, process.stderr);
  }

  result({ json, text }: Report): void {
    this.stdout.write(`${this.json ? JSON.stringify(json) : text}\n`);
  }

  /** Progress, for people. */
  note(message: string): void {
    if (!this.json) this.stderr.write(`waybill: ${message}\n`);
  }

  error(error: ErrorReport): void {
    this.stderr.write(this.json ? `${JSON.stringify({ error })}\n` : `waybill: ${describeReport(error)}\n`);
  }

  /** Instead of an error line for people: how to use the command. */
  usage(help: string): void {
    this.stderr.write(help);
  }
}

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
