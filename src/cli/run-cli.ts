import { Command, CommanderError } from 'commander';
import { addAuditCommands } from './audit-commands';
import { addBackupCommands } from './backup/backup-commands';
import { addClassifyCommand } from './classify-command';
import { addClusterCommands, addMigrateCommand, addStatsCommands } from './operations-commands';
import { addConnectionCommands } from './connection-commands';
import { addDestinationCommands, addEgressCommands } from './destination-commands';
import { type Output, toErrorReport } from './session/output';
import { addConsoleCommands } from './console-commands';
import { CliSession } from './session/cli-session';
import { addDoctorCommand } from './doctor/doctor-command';
import { addDomainCommands } from './domain-commands';
import { addInboundCommands, addInboundRouteCommands } from './inbound-commands';
import { addKeyCommands, addOperatorKeyCommands } from './key-commands';
import { addOrganizationCommands } from './organization-commands';
import { addQueueCommands } from './queue-commands';
import { addReEncryptCommands } from './re-encrypt-commands';
import { addSuppressionCommands } from './suppression-commands';
import { addTemplateCommands } from './template-commands';
import { RELEASE } from '../common/release';

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
    await createProgram(new CliSession(output, environment, signal), help).parseAsync(args, { from: 'user' });
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

/** @param help collects what the parser would print about usage */
export function createProgram(session: CliSession, help: string[]): Command {
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
  addOrganizationCommands(program, session);
  addKeyCommands(program, session);
  addOperatorKeyCommands(program, session);
  addConsoleCommands(program, session);
  addReEncryptCommands(program, session);
  addDomainCommands(program, session);
  addInboundCommands(program, session);
  addInboundRouteCommands(program, session);
  addStatsCommands(program, session);
  addSuppressionCommands(program, session);
  addTemplateCommands(program, session);
  addAuditCommands(program, session);
  addQueueCommands(program, session);
  addDestinationCommands(program, session);
  addEgressCommands(program, session);
  addClassifyCommand(program, session);
  addMigrateCommand(program, session);
  addClusterCommands(program, session);
  addConnectionCommands(program, session);
  addBackupCommands(program, session);
  addDoctorCommand(program, session);
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
