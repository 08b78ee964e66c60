import { Command, CommanderError } from 'commander';
import { RELEASE } from '../common/release';
import { addCommands } from './commands';
import type { CliSession } from './session/cli-session';
import { type Output, toErrorReport } from './session/output';

export interface RunOptions {
  /** Default: the process's own. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Runs before anything else; its errors are the command's. */
  readonly prepare?: () => void;
  /** Aborted: the command stops in order, and its error is the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Runs one command line.
 *
 * @param createOutput gets whether `--json` is among the arguments, wherever it stands
 * @returns the exit code: 0, or 1 when the command failed or was not understood
 */
export async function runCli(
  args: readonly string[],
  createOutput: (json: boolean) => Output,
  { environment, prepare, signal }: RunOptions = {},
): Promise<number> {
  const output = createOutput(wantsJson(args));
  const help: string[] = [];
  try {
    prepare?.();
    const program = await createProgram(args, help, async () => {
      const { CliSession } = await import('./session/cli-session.js');
      return new CliSession(output, environment, signal);
    });
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Timers and streams that the signal ends have an error of their own.
    const isInterrupted = signal?.aborted === true && (error as Error).name === 'AbortError';
    return reportError(isInterrupted ? signal.reason : error, help.join(''), output);
  }
}

/** Not left to the parser: its own complaints have to know as well. What follows `--` is no option. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).includes('--json');
}

/**
 * @param args the command line that it is to parse
 * @param help collects what the parser would print about usage
 */
export async function createProgram(
  args: readonly string[],
  help: string[],
  openSession: () => Promise<CliSession>,
): Promise<Command> {
  const program = new Command('waybill')
    .description('Operates a Waybill installation from the command line.')
    .version(RELEASE, '--version', 'print the release')
    .option('--json', 'one JSON value on standard output; an error is a JSON line on standard error')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => help.push(text),
      writeErr: (text) => help.push(text),
      outputError: () => undefined,
    });
  await addCommands(program, args, openSession);
  return program;
}

/** The parser also reports help as an error, with the exit code that fits: 0 when it was asked for. */
function reportError(error: unknown, help: string, output: Output): number {
  if (error instanceof CommanderError && error.exitCode === 0) {
    const json = error.code === 'commander.version' ? { version: RELEASE } : { help };
    output.result({ json, text: help.trimEnd() });
    return 0;
  }
  if (error instanceof CommanderError && error.code === 'commander.help') {
    if (output.json) output.error({ code: 'invalid_request', message: 'Command missing; see --help' });
    else output.usage(help);
    return 1;
  }
  output.error(toErrorReport(error));
  return 1;
}
