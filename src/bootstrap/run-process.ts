import { setFlagsFromString } from 'node:v8';
import { endLog, type Logger } from '../common/logging/logger';
import { SECOND } from '../common/clock';
import type { AppConfig } from '../config/config';
import { openDatabase } from '../database/open-database';
import { curlCommand, seedFirstStart } from './first-start';
import type { Modules } from './process.module';
import { type RunningService, startService } from './start-service';

/**
 * V8 lets a small heap grow fourfold between two collections: 300 MB of RSS at full load, where 200 do as well and as fast.
 * To be called before anything else.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=80');
}

/** Beyond the drain time something hangs; the claims of a killed process are freed with its lease. */
const STOP_MARGIN_MS = 15 * SECOND;

/** For a reader of standard output that is slow, or has stopped reading. */
const LAST_LINES_MS = 2 * SECOND;

interface Parts {
  readonly database: Awaited<ReturnType<typeof openDatabase>>;
  readonly service: RunningService;
}

/**
 * A process's life: database, service, first-start seeding, "ready"; then SIGINT, SIGTERM or SIGHUP stops the service first and
 * the embedded database last. A second signal, or a stop that takes too long, ends it with exit code 1.
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
  let parts: Parts | undefined;
  try {
    parts = await start(config, modules, logger);
    await stopped;
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
  logger.fatal({ err: error }, 'start failed');
  process.exitCode = 1;
}

async function start(config: AppConfig, modules: Modules, logger: Logger): Promise<Parts> {
  const log = (message: string): void => logger.info(message);
  const database = await openDatabase(config, { log, stopWhenLast: true, revive: true });
  try {
    const service = await startService(config, database.url, modules, logger);
    const credentials = config.roles.has('api') ? await seedFirstStart(service.app, config) : undefined;
    const { port, metricsPort } = service;
    logger.info({ port, metricsPort, roles: [...config.roles], deliveryMode: config.delivery.mode }, 'ready');
    if (credentials && port !== undefined) welcome(curlCommand(credentials, config.dataDir, port), config, port);
    return { database, service };
  } catch (error) {
    await database.stop();
    throw error;
  }
}

/** For people, on standard error: standard output is JSON lines only. */
function welcome(curl: string, { delivery }: AppConfig, port: number): void {
  const mailbox = delivery.mode === 'local' ? `Then see it arrive: http://localhost:${port}/mailbox\n` : '';
  process.stderr.write(
    `\nWaybill is ready. Send your first mail:\n\n${curl}\n\n${mailbox}API reference: http://localhost:${port}/docs\n\n`,
  );
}

async function stop(parts: Parts | undefined, config: AppConfig, logger: Logger): Promise<void> {
  const limitMs = config.delivery.drainSeconds * SECOND + STOP_MARGIN_MS;
  const overdue = setTimeout(() => die(logger, 'stopping takes too long', undefined), limitMs);
  await parts?.service.close().catch((error: unknown) => fail(logger, 'the service did not stop cleanly', error));
  await parts?.database.stop().catch((error: unknown) => fail(logger, 'the database did not stop cleanly', error));
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

/** Half-done work is safe to leave: accepts are committed or not, and claims are freed with the lease. */
function die(logger: Logger, message: string, error: unknown): void {
  logger.fatal({ ...(error !== undefined && { err: error }) }, message);
  process.exitCode = 1;
  exit(logger);
}

/** With what the log still holds, unless its reader has stopped reading. */
function exit(logger: Logger): void {
  setTimeout(() => process.exit(), LAST_LINES_MS);
  void endLog(logger).then(() => process.exit());
}
