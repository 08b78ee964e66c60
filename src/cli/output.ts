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
