import { format } from 'node:util';
import {
  destination as openDestination,
  type DestinationStream,
  type Logger as PinoLogger,
  pino,
  stdTimeFunctions,
} from 'pino';
import type { Metrics } from '../metrics/metrics';

export type Logger = PinoLogger;

/** When standard output is not read, this much text is buffered; later lines are dropped. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/** Called for each line that standard output did not take. */
let countDropped: () => void = () => undefined;

type Stdout = ReturnType<typeof openDestination>;

/** One for the process, as standard output is. */
let stdout: Stdout | undefined;

/** Counts the lost lines from now on. */
export function observeDroppedLines(metrics: Metrics): void {
  const help = 'Log lines dropped because standard output did not take them';
  const counter = metrics.counter({ name: 'log_lines_dropped_total', help });
  countDropped = () => counter.inc();
}

export interface LoggerOptions {
  /** trace, debug, info, warn, error, fatal or silent. */
  readonly level: string;
  /** Tests collect lines here; default: standard output, written without ever blocking the event loop. */
  readonly destination?: DestinationStream;
}

let ended: Promise<void> | undefined;

/**
 * Resolves when every line has left the process; later ones are left out. Standard output is written in the background, and
 * the logger's own flush does not wait for a write that is under way. Never rejects, however often it is called: what ends the
 * process calls it, for each failure.
 */
export function endLog(logger: Logger): Promise<void> {
  // The stream throws when it is written to, or ended, after its end.
  logger.level = 'silent';
  ended ??= new Promise((resolve) => {
    if (!stdout) return resolve();
    stdout.once('close', resolve);
    stdout.end();
  });
  return ended;
}

/** A logger of JSON lines: `level`, ISO `time`, `msg`; fields whose names speak of secrets are masked. */
export function createLogger({ level, destination = openStdout() }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redacted },
      serializers: { err: (error: unknown) => describeError(error) },
    },
    destination,
  );
}

function openStdout(): DestinationStream {
  stdout ??= watched(openDestination({ dest: 1, sync: false, maxLength: MAX_BUFFERED_BYTES }));
  return stdout;
}

function watched(stream: Stdout): Stdout {
  // Pino calls it for fatal lines and at the exit. It tries without end to write to a full disk, and to a pipe that nobody reads.
  stream.flushSync = () => undefined;
  stream.on('drop', () => countDropped());
  stream.on('error', (error: NodeJS.ErrnoException) => {
    countDropped();
    // A closed reader must not end the service. Pino has given the stream up by now, without a word about what is logged from here on.
    if (error.code === 'EPIPE') giveUp(stream);
  });
  return stream;
}

/** Every line counts as lost, so that the alert lasts; nothing is left to wait for at the end. */
function giveUp(stream: Stdout): void {
  stdout = undefined;
  stream.write = () => {
    countDropped();
    return true;
  };
}

/** Makes lines of what libraries write to the console: clients can cause some of it, as mailauth's note on a DKIM signature's `l=`. */
export function logConsole(logger: Logger): void {
  for (const method of ['log', 'info', 'debug', 'warn', 'error'] as const) {
    const level = method === 'warn' || method === 'error' ? 'warn' : 'debug';
    console[method] = (...parts: unknown[]) => logger[level]({ context: 'console' }, format(...parts));
  }
}

interface ErrorDescription {
  type: string;
  message: string;
  stack?: string;
  cause?: ErrorDescription;
  code?: unknown;
  table?: unknown;
  constraint?: unknown;
}

const MAX_CAUSES = 4;

/**
 * The logged properties of an error. Drivers attach the parameters of a failed query to their errors, and those are addresses
 * and bodies.
 */
export function describeError(error: unknown, causesLeft = MAX_CAUSES): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { code, table, constraint } = error as { code?: unknown; table?: unknown; constraint?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(error.stack !== undefined && { stack: error.stack }),
    ...(code !== undefined && { code }),
    ...(table !== undefined && { table }),
    ...(constraint !== undefined && { constraint }),
    ...(error.cause !== undefined && causesLeft > 0 && { cause: describeError(error.cause, causesLeft - 1) }),
  };
}

/** Names of fields whose values never belong in a log, in any case. */
const SECRETS = new Set([
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'key',
  'apikey',
  'privatekey',
  'masterkey',
  'previousmasterkey',
  'html',
  'text',
  'subject',
  'content',
]);

const MASK = '[redacted]';
/** Deeper objects, which this service does not log intentionally, are cut off. */
const MAX_DEPTH = 4;

/** A copy of `fields` with secrets masked, or `fields` itself when nothing needs masking. Errors pass unchanged. */
export function redacted(fields: Record<string, unknown>): Record<string, unknown> {
  return masked(fields, 0);
}

function masked(fields: Record<string, unknown>, depth: number): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const name in fields) {
    const value = fields[name];
    const clean = SECRETS.has(name) || SECRETS.has(name.toLowerCase()) ? MASK : cleaned(value, depth + 1);
    if (clean === value) continue;
    copy ??= { ...fields };
    copy[name] = clean;
  }
  return copy ?? fields;
}

function cleaned(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error || Array.isArray(value)) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return depth > MAX_DEPTH ? '[deep]' : masked(value as Record<string, unknown>, depth);
}
