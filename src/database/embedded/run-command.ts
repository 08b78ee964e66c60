import { spawn } from 'node:child_process';
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import type { ServerUser } from './server-user';
import { OperatorError } from '../../common/errors/app-error';

export interface CommandOptions {
  /** undefined: the user of this process. */
  user: ServerUser | undefined;
  /** A folder that the user can enter: the folder of this process may be closed to it. */
  workingFolder: string;
  /** Gets the output, and is handed to the user. Not a pipe: on Windows the server would keep that open for ever. */
  logFile: string;
  /** In a process group of its own, out of reach of Ctrl-C in the terminal. */
  detached?: boolean;
  /** Aborted: interrupts the program, as Ctrl-C would. */
  signal?: AbortSignal | undefined;
  /** Interrupted, it leaves no program of its own behind: in a process group of its own, which is killed after it. */
  endsGroup?: boolean;
}

export interface CommandResult {
  /** null when a signal ended it. */
  exitCode: number | null;
  /** The last lines of what it wrote. */
  output: string;
}

/** Nothing of the service's own environment, which holds secrets: the server's user could read it. */
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC' };
const OUTPUT_CHARACTERS = 2_000;
/** With a line for each client that connects while the server starts. */
const READ_BYTES = 64 * 1024;
const CLIENT_TURNED_AWAY =
  /FATAL: {2}the database system is (?:starting up|shutting down|in recovery mode|not yet accepting)/;

/** Runs a program to its end. Rejects when it cannot be run at all; the caller interprets the exit code. */
export async function runCommand(file: string, args: string[], options: CommandOptions): Promise<CommandResult> {
  const log = await open(options.logFile, 'a+', 0o600);
  try {
    if (options.user) await log.chown(options.user.uid, options.user.gid);
    const { size } = await log.stat();
    const exitCode = await spawnAndWait(file, args, log, options);
    return { exitCode, output: await readSince(log, size) };
  } finally {
    await log.close();
  }
}

function spawnAndWait(file: string, args: string[], log: FileHandle, options: CommandOptions): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...options.user,
      cwd: options.workingFolder,
      env: ENVIRONMENT,
      detached: options.detached ?? options.endsGroup ?? false,
      windowsHide: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    const interrupt = (): void => void child.kill('SIGINT');
    options.signal?.addEventListener('abort', interrupt, { once: true });
    if (options.signal?.aborted) interrupt();
    child.once('exit', (exitCode) => {
      options.signal?.removeEventListener('abort', interrupt);
      if (options.endsGroup && options.signal?.aborted) killGroup(child.pid);
      resolve(exitCode);
    });
    child.once('error', (cause) => reject(cannotRun(file, cause)));
  });
}

function killGroup(id: number | undefined): void {
  try {
    if (id !== undefined) process.kill(-id, 'SIGKILL');
  } catch {
    // Nothing is left of it, or the system has no groups (Windows).
  }
}

function cannotRun(file: string, cause: Error): Error {
  return new OperatorError(
    `The embedded Postgres cannot run here: ${file}: ${cause.message}. It needs a system with glibc (not Alpine). ` +
      'Set DATABASE_URL to use another Postgres server.',
    { cause },
  );
}

async function readSince(log: FileHandle, position: number): Promise<string> {
  const { size } = await log.stat();
  const start = Math.max(position, size - READ_BYTES);
  const { buffer, bytesRead } = await log.read(Buffer.alloc(size - start), 0, size - start, start);
  return lastWords(buffer.toString('utf8', 0, bytesRead));
}

/** The end of a log, without the refusals of clients: at full speed they would leave no room for why the server does not start. */
export function lastWords(log: string): string {
  const lines = log.split('\n').filter((line) => !CLIENT_TURNED_AWAY.test(line));
  return lines.join('\n').slice(-OUTPUT_CHARACTERS).trim();
}
