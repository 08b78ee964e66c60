import { setFlagsFromString } from 'node:v8';
import { endLog, type Logger } from '../common/logging/logger';
import { endsWithin } from '../common/async/promises';
import { SECOND } from '../common/clock';
import { OperatorError, reasonOf, UnavailableError } from '../common/errors/app-error';
import type { AppConfig } from '../config/config';
import { unusableFile } from '../config/data-dir';
import { ConfigurationError, misspelledVariables } from '../config/load-config';
import { memoryShortage } from '../config/memory';
import { isUnavailable } from '../database/statements/database-errors';
import { openDatabase } from '../database/start/open-database';
import { awaitUsableSchema } from './await-schema';
import { ConsoleLinksService } from '../auth/console-sessions/console-links.service';
import { type Credentials, curlCommand, isSeeded, seedFirstStart } from './first-start';
import type { Modules } from './process.module';
import { type RunningService, startService } from './start-service';

/**
 * Limits V8's heap growth: it lets a small heap grow fourfold between two collections, which takes 300 MB of RSS at full load, where
 * 200 MB are as fast. To be called before anything else.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=80');
}

/** A stop that takes longer than the drain time and this is taken for a hang; the claims of a killed process are freed with its lease. */
const STOP_MARGIN_MS = 15 * SECOND;

/** How long a start may take to end after a signal. */
const BREAK_OFF_MS = 3 * SECOND;

/** Wait for the embedded server's last checkpoint; the server finishes it by itself after that. */
const STOP_DATABASE_MS = 4 * SECOND;

/** Wait for a reader of standard output that is slow or has stopped reading. */
const LAST_LINES_MS = 2 * SECOND;

/** What a start has brought up so far. */
interface Parts {
  database?: Awaited<ReturnType<typeof openDatabase>>;
  service?: RunningService;
}

/**
 * The life of a process: database, first-start seeding, service, "ready"; then SIGINT, SIGTERM or SIGHUP stops the service first and
 * the embedded database last. A signal before that aborts the start. A second signal, or a stop that takes too long, ends the
 * process with exit code 1.
 *
 * @param modules of the configuration's roles
 */
export async function runProcess(config: AppConfig, modules: Modules, logger: Logger): Promise<void> {
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => onSignal(signal, stopping, logger));
  }
  process.on('unhandledRejection', (error) => die(logger, 'unhandled rejection', error));
  process.on('uncaughtException', (error) => die(logger, 'uncaught exception', error));
  const parts: Parts = {};
  try {
    const started = start(parts, { config, modules, logger, signal: stopping.signal });
    const isStarted = await Promise.race([
      started.then(() => true),
      stopped.then(() => endsWithin(started, BREAK_OFF_MS)),
    ]);
    if (isStarted) await Promise.all([started, stopped]);
    else logger.warn('the start did not come to an end in time');
  } catch (error) {
    failStart(error, stopping.signal, logger);
  }
  await stop(parts, config, logger);
}

/** Ctrl-C reaches initdb as well: a start that ends after it has not failed. */
function failStart(error: unknown, stopping: AbortSignal, logger: Logger): void {
  if (stopping.aborted) {
    logger.info('the start was broken off');
    logger.debug({ err: error }, 'how the start ended');
    return;
  }
  logFailedStart(logger, error);
  process.exitCode = 1;
}

/** Logs known problems as a message for the operator, others with their stack. */
export function logFailedStart(logger: Logger, error: unknown): void {
  if (error instanceof ConfigurationError) return logConfigurationError(logger, error);
  const sentence = knownFault(error);
  if (sentence === undefined) logger.fatal({ err: error }, 'start failed');
  else logger.fatal({ code: 'start_failed' }, `start failed: ${sentence}`);
}

/** Undefined for what nobody has foreseen. */
function knownFault(error: unknown): string | undefined {
  if (error instanceof OperatorError || error instanceof UnavailableError) return reasonOf(error);
  if (isUnavailable(error)) return `the database is unavailable: ${(error as Error).message}`;
  return unusableFile(error);
}

/** Also where the configuration is not valid: a setting may be missing because its name has a mistake. */
export function warnOfMisspelledVariables(logger: Logger): void {
  for (const sentence of misspelledVariables()) logger.warn({ code: 'unknown_setting' }, sentence);
}

/** One line for each problem, without a stack, which would not help. */
function logConfigurationError(logger: Logger, { problems }: ConfigurationError): void {
  for (const problem of problems) logger.fatal({ code: 'invalid_configuration' }, problem);
}

interface StartOptions {
  readonly config: AppConfig;
  readonly modules: Modules;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

async function start(parts: Parts, { config, modules, logger, signal }: StartOptions): Promise<void> {
  warnOfMisspelledVariables(logger);
  const shortage = memoryShortage(config);
  if (shortage !== undefined) logger.warn({ code: 'little_memory' }, shortage);
  const log = (message: string): void => logger.info(message);
  const warn = (message: string): void => logger.error(message);
  const database = await openDatabase(config, { log, warn, stopWhenLast: true, restart: true, signal });
  parts.database = database;
  signal.throwIfAborted();
  await awaitUsableSchema(database.url, { config, logger, signal });
  const isFirst = !isSeeded(config.dataDir);
  let credentials: Credentials | undefined;
  const service = await startService(config, database, modules, logger, async (app) => {
    credentials = await seedFirstStart(app, config);
  });
  parts.service = service;
  const { port, metricsPort, submission } = service;
  const ports = { port, metricsPort, submissionPort: submission?.port, submissionsPort: submission?.implicitTlsPort };
  logger.info({ ...ports, roles: [...config.roles], deliveryMode: config.delivery.mode }, 'ready');
  if (!credentials || port === undefined) return;
  const baseUrl = `http://localhost:${port}`;
  const console = isFirst ? await consoleLink(service, credentials, config) : '/console';
  welcome(curlCommand(credentials, config.dataDir, port), config, { baseUrl, console, smtp: submission?.port });
}

/** Prints a link that signs in to the console, once. */
async function consoleLink(
  { app }: RunningService,
  { organizationId }: Credentials,
  { console: { enabled } }: AppConfig,
): Promise<string> {
  if (!enabled) return '/console';
  return (await app.get(ConsoleLinksService, { strict: false }).create({ organizationId, mode: 'live' })).path;
}

interface Addresses {
  readonly baseUrl: string;
  /** The path, with a link's token at the first start. */
  readonly console: string;
  readonly smtp: number | undefined;
}

/** For people, on standard error: standard output is JSON lines only. */
function welcome(
  curl: string,
  { delivery, console: { enabled } }: AppConfig,
  { baseUrl, console, smtp }: Addresses,
): void {
  const once = console === '/console' ? '' : ' (signs you in, once, for 15 minutes)';
  const lines = [
    ...(delivery.mode === 'local' ? [`Then see it arrive: ${baseUrl}/mailbox`] : []),
    ...(enabled ? [`Console: ${baseUrl}${console}${once}`] : []),
    ...(smtp === undefined ? [] : [`SMTP: localhost:${smtp}, user waybill, password an API key (docs/smtp.md)`]),
    `API reference: ${baseUrl}/docs`,
  ];
  process.stderr.write(`\nWaybill is ready. Send your first mail:\n\n${curl}\n\n${lines.join('\n')}\n\n`);
}

async function stop({ service, database }: Parts, config: AppConfig, logger: Logger): Promise<void> {
  const seconds = config.http.shutdownDelaySeconds + config.delivery.drainSeconds;
  const limitMs = seconds * SECOND + STOP_MARGIN_MS;
  const overdue = setTimeout(() => die(logger, 'stopping takes too long', undefined), limitMs);
  await service?.close().catch((error: unknown) => fail(logger, 'the service did not stop cleanly', error));
  const down = database?.stop().catch((error: unknown) => fail(logger, 'the database did not stop cleanly', error));
  if (down && !(await endsWithin(down, STOP_DATABASE_MS))) logger.warn('the database is still stopping');
  clearTimeout(overdue);
  logger.info('stopped');
  exit(logger);
}

function onSignal(signal: string, stopping: AbortController, logger: Logger): void {
  if (stopping.signal.aborted) die(logger, `second ${signal}`, undefined);
  logger.info({ signal }, 'stopping');
  stopping.abort();
}

function fail(logger: Logger, message: string, error: unknown): void {
  logger.error({ err: error }, message);
  process.exitCode = 1;
}

/** Unfinished work is safe to abandon: accepts are committed or not, and claims are freed with the lease. */
function die(logger: Logger, message: string, error: unknown): void {
  logger.fatal({ ...(error !== undefined && { err: error }) }, message);
  process.exitCode = 1;
  exit(logger);
}

/** Ends the process once its log is written, or cannot be: nobody reads it any more, or its disk is full. */
export function exit(logger: Logger): void {
  setTimeout(() => process.exit(), LAST_LINES_MS);
  void endLog(logger).then(() => process.exit());
}
