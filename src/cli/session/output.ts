import { CommanderError } from 'commander';
import { AppError, type ErrorCode } from '../../common/errors/app-error';
import { ConfigurationError } from '../../config/load-config';
import { isUnavailable } from '../../database/statements/database-errors';

/** The API's codes, and those of situations that only an operator meets. */
export type CliErrorCode = ErrorCode | 'invalid_configuration' | 'unhealthy' | 'interrupted';

/** What an operator sees of an error. */
interface ErrorReport {
  readonly code: CliErrorCode;
  readonly message: string;
  readonly details?: Record<string, unknown>;
}

/** An exceptional result of a command itself. */
export class CliError extends Error {
  constructor(
    readonly code: CliErrorCode,
    message: string,
    readonly details?: Record<string, unknown>,
  ) {
    super(message);
    this.name = 'CliError';
  }
}

/** Unlike over HTTP, an unforeseen error shows its message: the operator may read the logs as well. */
export function toErrorReport(error: unknown): ErrorReport {
  if (error instanceof AppError || error instanceof CliError) {
    const { code, message, details } = error;
    return { code, message, ...(details && { details }) };
  }
  if (error instanceof CommanderError) {
    return { code: 'invalid_request', message: oneLine(error.message.replace(/^error: /, '')) };
  }
  const message = oneLine(error instanceof Error ? error.message || error.name : String(error));
  if (error instanceof ConfigurationError) return { code: 'invalid_configuration', message };
  // The driver says `timeout expired` and no more.
  if (isUnavailable(error)) return { code: 'service_unavailable', message: `The database is unavailable: ${message}` };
  return { code: 'internal_error', message };
}

/** The report as one line; failed validation says which field and why. */
function describeReport({ message, details }: ErrorReport): string {
  const validation = Object.values((details?.validation ?? {}) as Record<string, string[]>).flat();
  return oneLine(validation.length > 0 ? `${message}: ${validation.join('; ')}` : message);
}

/** Several lines (a list of problems, a suggestion of the parser) as one. */
function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*(- )?/g, ' ');
}

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
    const output = new Output(json, process.stdout, process.stderr);
    process.stderr.on('error', () => undefined);
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      output.error({ code: 'internal_error', message: `The result cannot be written: ${error.message}` });
      process.exitCode = 1;
    });
    return output;
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
