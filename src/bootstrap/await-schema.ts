import { setTimeout as delay } from 'node:timers/promises';
import { SECOND, SystemClock } from '../common/clock';
import { AppError } from '../common/errors/app-error';
import { errorBody, JSON_TYPE } from '../common/http/responses/error-response';
import {
  type ProbeResponse,
  type ProbeRoutes,
  type ProbeServer,
  startProbeServer,
} from '../common/http/server/probe-server';
import type { Logger } from '../common/logging/logger';
import { Metrics, startMetricsServer } from '../common/metrics/metrics';
import { COMMIT, RELEASE } from '../common/release';
import type { AppConfig } from '../config/config';
import { untilReachable } from '../database/start/open-database';
import { readSchemaState, type SchemaState } from '../database/schema/schema-state';
import { DatabaseProbe } from '../modules/health/database-probe';

const RETRY_MS = SECOND;
const RETRY_AFTER_SECONDS = 5;

export interface AwaitSchemaOptions {
  readonly config: Pick<AppConfig, 'http' | 'roles'>;
  readonly logger: Logger;
  /** When aborted, the wait rejects soon. */
  readonly signal: AbortSignal;
}

/**
 * Waits until the schema is one that this build can run on: with `MIGRATE_ON_START=false` another process migrates, and after
 * a roll-back of the release the schema may be too new. Meanwhile the process is alive and not ready, logs why, and checks
 * again every second; requests get a 503.
 *
 * @throws as `untilReachable` does
 */
export async function awaitUsableSchema(url: string, options: AwaitSchemaOptions): Promise<void> {
  const { logger, signal } = options;
  const log = (message: string): void => logger.info(message);
  // The database may go away after it has been opened, above all behind a pooler, which reports an outage for a while longer.
  const schema = await untilReachable(url, { log, signal }, () => readSchemaState(url));
  if (schema.isUsable) {
    if (schema.state !== 'current') logger.warn(schema.sentence);
    return;
  }
  const probe = new DatabaseProbe(url, new SystemClock(), undefined, false);
  const waiting = new Waiting(schema, probe);
  const servers = await openServers(waiting, options);
  const [metricsPort, port] = servers.map((server) => server.port);
  try {
    logger.warn({ schema: schema.state, port, metricsPort }, `not ready: ${schema.sentence}`);
    while (!waiting.schema.isUsable) {
      await delay(RETRY_MS, undefined, { signal });
      if (await waiting.readAgain(url)) {
        logger.warn({ schema: waiting.schema.state }, `not ready: ${waiting.schema.sentence}`);
      }
    }
  } finally {
    await Promise.all(servers.map((server) => server.close()));
    probe.onApplicationShutdown();
  }
  logger.info(waiting.schema.sentence);
}

/** The HTTP responses of a process that waits for the schema. */
class Waiting {
  constructor(
    public schema: SchemaState,
    private readonly probe: DatabaseProbe,
  ) {}

  /** Reads the state again; an unreachable database changes nothing. Returns whether the reason for waiting has changed. */
  async readAgain(url: string): Promise<boolean> {
    const before = this.schema;
    this.schema = await readSchemaState(url).catch(() => before);
    return !this.schema.isUsable && this.schema.sentence !== before.sentence;
  }

  get routes(): ProbeRoutes {
    const notReady = (status: string) => ({ status, timestamp: timestamp(), reason: this.schema.sentence });
    const startup = async (): Promise<ProbeResponse> => {
      return { status: 503, body: { ...notReady('not_ready'), database: await this.probe.check() } };
    };
    return {
      '/health': () => ({ status: 200, body: { status: 'ok', timestamp: timestamp(), service: 'waybill' } }),
      '/health/startup': startup,
      '/health/detailed': () => ({ status: 503, body: notReady('unhealthy') }),
    };
  }
}

function timestamp(): string {
  return new Date().toISOString();
}

async function openServers(waiting: Waiting, { config }: AwaitSchemaOptions): Promise<ProbeServer[]> {
  const { host, port, metricsHost, metricsPort } = config.http;
  const { routes } = waiting;
  const waitingMetrics = new Metrics();
  waitingMetrics.showBuild({ version: RELEASE, commit: COMMIT });
  const { registry } = waitingMetrics;
  const metrics = await startMetricsServer({ host: metricsHost, port: metricsPort, registry, routes });
  if (!config.roles.has('api')) return [metrics];
  try {
    return [metrics, await startProbeServer({ variable: 'PORT', host, port, routes, otherwise: refuse })];
  } catch (error) {
    await metrics.close();
    throw error;
  }
}

/** A 503 without the reason, which only operators need to know. */
function refuse(): ProbeResponse {
  const error = new AppError('service_unavailable', 'The service is not ready yet');
  const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) };
  return { status: 503, body: errorBody(error), contentType: JSON_TYPE, headers };
}
