import 'reflect-metadata';
import { constants } from 'node:os';
import { SECOND } from '../common/clock';
import { loadEnvFile } from '../config/load-config';
import { CliError, Output } from './session/output';
import { runCli } from './run-cli';

const interruption = new AbortController();
/** For an interrupted command to stop in order. */
const GRACE_MS = 15 * SECOND;

/** The first signal stops the command in order: it leaves no database running and no part of a file. The second one ends it at once. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    interruption.abort(new CliError('interrupted', `Interrupted by ${signal}`));
    // As a shell reports it.
    process.exitCode = 128 + constants.signals[signal];
    setTimeout(() => process.exit(), GRACE_MS).unref();
  });
}

const { signal } = interruption;
void runCli(process.argv.slice(2), Output.ofProcess, { prepare: loadEnvFile, signal }).then((exitCode) => {
  // It may have been set where the result could not be written.
  process.exitCode ||= exitCode;
  // What was interrupted may still wait for something.
  if (signal.aborted) process.exit();
});
