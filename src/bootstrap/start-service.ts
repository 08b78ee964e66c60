import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { SECOND } from '../common/clock';
import { Draining } from '../common/http/draining';
import { createHttpAdapter } from '../common/http/http-server';
import { type Logger, logRequestsTo, NestLogger, observeDroppedLines } from '../common/logging/logger';
import { Metrics, observeRequests } from '../common/metrics/metrics';
import { startMetricsServer } from '../common/metrics/metrics-server';
import { opensPort } from '../common/network';
import type { AppConfig } from '../config/config';
import { translateDatabaseError } from '../database/database-errors';
import { InboundSmtpServer } from '../modules/inbound/inbound-smtp.server';
import { buildOpenApiDocument } from '../openapi/openapi-document';
import { setUpDocs } from '../openapi/docs';
import { type Modules, ProcessModule } from './process.module';

/** Requests that are under way may take this long once the service stops. */
const FINISH_REQUESTS_MS = 30 * SECOND;

export interface RunningService {
  readonly app: INestApplicationContext;
  /** Undefined without the api role. */
  readonly port: number | undefined;
  readonly metricsPort: number;
  /** Refuses new requests, finishes running ones and the mail under way, then closes everything. */
  close(): Promise<void>;
}

/**
 * Starts the configuration's roles in this process, on a database whose schema is up to date.
 * @param imports the roles' modules
 */
export async function startService(
  config: AppConfig,
  databaseUrl: string,
  imports: Modules,
  logger: Logger,
): Promise<RunningService> {
  const draining = new Draining();
  const metrics = new Metrics();
  metrics.collectProcessMetrics();
  observeDroppedLines(metrics);
  const runJobs = config.roles.has('worker');
  const module = ProcessModule.register({ config, databaseUrl, imports, runJobs, draining, metrics });
  const nestOptions = { logger: new NestLogger(logger), abortOnError: false };
  const http = config.roles.has('api');
  const app = http
    ? await NestFactory.create<NestExpressApplication>(
        module,
        adapterFor(config, draining, metrics, logger),
        nestOptions,
      )
    : await NestFactory.createApplicationContext(module, nestOptions);
  try {
    if (http) await listen(app as NestExpressApplication, config);
    if (config.roles.has('inbound')) await app.get(InboundSmtpServer).listen();
    return await serving(app, config, draining, metrics);
  } catch (error) {
    // Open connections would keep the embedded database from stopping.
    await app.close().catch(() => undefined);
    throw error;
  }
}

async function serving(
  app: INestApplicationContext,
  config: AppConfig,
  draining: Draining,
  metrics: Metrics,
): Promise<RunningService> {
  const { host, metricsPort } = config.http;
  const metricsServer = await startMetricsServer({ host, port: metricsPort, registry: metrics.registry });
  return {
    app,
    port: config.roles.has('api') ? portOf(app as NestExpressApplication) : undefined,
    metricsPort: metricsServer.port,
    close: async () => {
      draining.begin();
      await draining.whenIdle(FINISH_REQUESTS_MS);
      await app.close();
      await metricsServer.close();
    },
  };
}

function adapterFor(config: AppConfig, draining: Draining, metrics: Metrics, logger: Logger) {
  return createHttpAdapter({
    trustProxy: config.http.trustProxy,
    strictTransport: config.http.publicUrl.startsWith('https:'),
    draining,
    log: observeRequests(metrics, logRequestsTo(logger)),
    translateError: translateDatabaseError,
  });
}

async function listen(app: NestExpressApplication, { http }: AppConfig): Promise<void> {
  setUpDocs(app, buildOpenApiDocument(app));
  await opensPort('PORT', http, app.listen(http.port, http.host));
}

function portOf(app: NestExpressApplication): number {
  const address = (app.getHttpServer() as { address(): { port: number } | string | null }).address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
