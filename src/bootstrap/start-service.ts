import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type INestApplicationContext, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { endsWithin } from '../common/async/promises';
import { SECOND } from '../common/clock';
import { DiskSpace } from '../common/disk-space';
import { Draining } from '../common/http/server/draining';
import { createHttpAdapter } from '../common/http/server/http-server';
import type { ProbeRoutes } from '../common/http/server/probe-server';
import { BodyBudget } from '../common/http/request/request-body';
import { endIdleConnections, stopListening } from '../common/http/server/stop-listening';
import { PeriodicJobs } from '../common/jobs/periodic-jobs';
import { type Logger as Log, observeDroppedLines } from '../common/logging/logger';
import { NestLogger } from '../common/logging/nest-logger';
import { logRequestsTo } from '../common/logging/request-log';
import { Metrics, observeRequests, startMetricsServer } from '../common/metrics/metrics';
import { collectProcessMetrics } from '../common/metrics/process-metrics';
import { opensPort } from '../common/network';
import { COMMIT, RELEASE } from '../common/release';
import { NoTracing, type Tracing } from '../common/tracing/tracing';
import type { AppConfig } from '../config/config';
import { translateDatabaseError } from '../database/statements/database-errors';
import { Database } from '../database/pool/database.service';
import type { OpenDatabase } from '../database/start/open-database';
import { DeliveryWorker } from '../delivery/worker/delivery-worker';
import { HealthModule } from '../modules/health/health.module';
import { HealthService } from '../modules/health/health.service';
import { InboundSmtpServer } from '../modules/inbound-smtp/inbound-smtp.server';
import { type SubmissionPorts, SubmissionSmtpServer } from '../modules/submission/submission-smtp.server';
import { DispatchLoop } from '../modules/webhooks/dispatch/dispatch-loop.service';
import { buildOpenApiDocument, setUpDocs } from '../openapi/docs';
import { createProcess } from './create-process';
import type { Modules } from './process.module';

/** How long running requests may take once the service stops. */
const FINISH_REQUESTS_MS = 30 * SECOND;
/** Added to the drain time, to commit the last results and close connections. */
const DRAIN_MARGIN_MS = 6 * SECOND;
/** For requests on connections that were made just before the port closed. */
const LAST_REQUESTS_MS = SECOND / 2;
/** For closing database connections and sending the last traces. */
const CLOSE_MS = 3 * SECOND;

const ANYWHERE = { strict: false };

export interface RunningService {
  readonly app: INestApplicationContext;
  /** Undefined without the api role. */
  readonly port: number | undefined;
  readonly metricsPort: number;
  /** Undefined without the submission role. */
  readonly submission: SubmissionPorts | undefined;
  /** Refuses new requests, finishes running requests and SMTP conversations concurrently, then closes everything. */
  close(): Promise<void>;
}

/** What is done with the application before the api's port opens. */
type Preparation = (app: INestApplicationContext) => Promise<void>;

/**
 * Starts the configuration's roles in this process, on a database whose schema is up to date.
 * @param imports the roles' modules
 * @param prepare until it has ended, the api is not ready
 */
export async function startService(
  given: AppConfig,
  { url: databaseUrl, folder }: Pick<OpenDatabase, 'url' | 'folder'>,
  imports: Modules,
  logger: Log,
  prepare?: Preparation,
): Promise<RunningService> {
  const config = await withChosenPort(given);
  const draining = new Draining();
  const metrics = metricsOf();
  const runJobs = config.roles.has('worker');
  const tracing = await openTracing(config);
  const disk = diskOf(config, folder);
  const bodies = new BodyBudget(config.http.heldBodyBytes);
  const options = {
    ...{ config, databaseUrl, runJobs, draining, metrics, tracing, disk, bodies },
    // Every role serves probes.
    imports: [HealthModule, ...imports],
  };
  const nestOptions = { logger: new NestLogger(logger), abortOnError: false };
  const http = config.roles.has('api');
  const app = await createProcess<INestApplicationContext>(options, (module) =>
    http
      ? NestFactory.create(module, adapterFor(config, { draining, metrics, tracing, bodies }, logger), nestOptions)
      : NestFactory.createApplicationContext(module, nestOptions),
  );
  try {
    await disk.watch(metrics);
    if (http) {
      logRowSecurity(app.get(Database, ANYWHERE));
      await listen(app as NestExpressApplication, config, given.http.port, prepare);
    }
    const submission = await listenForMail(app, config);
    return { ...(await serving(app, config, { draining, metrics, tracing })), submission };
  } catch (error) {
    // Open connections would keep the embedded database from stopping.
    await app.close().catch(() => undefined);
    throw error;
  }
}

function metricsOf(): Metrics {
  const metrics = new Metrics();
  metrics.showBuild({ version: RELEASE, commit: COMMIT });
  collectProcessMetrics(metrics.registry);
  observeDroppedLines(metrics);
  return metrics;
}

/** Without row-level security the service works, but a query without its tenant filter would return rows of all tenants. */
function logRowSecurity({ rowSecurity }: Database): void {
  if (rowSecurity.state !== 'unavailable') return;
  Logger.warn(`Requests run without row-level security: ${rowSecurity.reason}`, 'Database');
}

async function listenForMail(app: INestApplicationContext, { roles }: AppConfig): Promise<SubmissionPorts | undefined> {
  if (roles.has('inbound')) await app.get(InboundSmtpServer, ANYWHERE).listen();
  return roles.has('submission') ? app.get(SubmissionSmtpServer, ANYWHERE).listen() : undefined;
}

/** What the parts of a process share for metrics, traces and limits. */
interface Observers {
  readonly draining: Draining;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly bodies: BodyBudget;
}

/** Loads the tracing library only when tracing is configured. */
async function openTracing({ tracing, roles }: AppConfig): Promise<Tracing> {
  if (tracing === undefined) return new NoTracing();
  const { OpenTelemetryTracing } = await import('../common/tracing/open-telemetry.js');
  return new OpenTelemetryTracing(tracing, { version: RELEASE, roles: [...roles] });
}

async function serving(
  app: INestApplicationContext,
  config: AppConfig,
  { draining, metrics, tracing }: Omit<Observers, 'bodies'>,
): Promise<Omit<RunningService, 'submission'>> {
  const { metricsHost: host, metricsPort: port } = config.http;
  const routes = healthRoutes(app.get(HealthService, ANYWHERE));
  const metricsServer = await startMetricsServer({ host, port, registry: metrics.registry, routes });
  return {
    app,
    port: config.roles.has('api') ? portOf(app as NestExpressApplication) : undefined,
    metricsPort: metricsServer.port,
    close: async () => {
      await drain(app, config, draining);
      await within('the service', app.close(), CLOSE_MS);
      await within('the last traces', tracing.close(), CLOSE_MS);
      await metricsServer.close();
    },
  };
}

/** Ends everything that is running, concurrently, within the drain time. */
async function drain(app: INestApplicationContext, config: AppConfig, draining: Draining): Promise<void> {
  const { roles, http, delivery } = config;
  draining.announce();
  if (http.shutdownDelaySeconds > 0) {
    await delay(http.shutdownDelaySeconds * SECOND);
    if (roles.has('api')) await closePort(app as NestExpressApplication);
  }
  draining.begin();
  const drainMs = delivery.drainSeconds * SECOND;
  const parts: Promise<unknown>[] = [];
  if (roles.has('api')) parts.push(finishRequests(app as NestExpressApplication, draining, drainMs));
  if (roles.has('inbound')) parts.push(app.get(InboundSmtpServer, ANYWHERE).stop());
  if (roles.has('submission')) parts.push(app.get(SubmissionSmtpServer, ANYWHERE).stop());
  if (roles.has('worker')) {
    for (const part of [PeriodicJobs, DispatchLoop, DeliveryWorker]) parts.push(app.get(part, ANYWHERE).stop());
  }
  await within('what is under way', Promise.all(parts), drainMs + DRAIN_MARGIN_MS);
}

/** A proxy sends to another process what it cannot connect for, also a POST; a 503 or the end of a connection it would report. */
async function closePort(app: NestExpressApplication): Promise<void> {
  const server = app.getHttpServer();
  await stopListening(server);
  await delay(LAST_REQUESTS_MS);
  await endIdleConnections(server);
}

/** Aborts requests that have no complete response in time: they would keep the server open. */
async function finishRequests(app: NestExpressApplication, draining: Draining, drainMs: number): Promise<void> {
  if (await draining.whenIdle(Math.min(drainMs, FINISH_REQUESTS_MS))) return;
  app.getHttpServer().closeAllConnections();
}

/** Waits no longer than the limit: claims are freed with the lease, and results that are not committed are in the journal. */
async function within(what: string, work: Promise<unknown>, limitMs: number): Promise<void> {
  const failed = work.catch((error: unknown) => Logger.error({ msg: `Not stopped cleanly: ${what}`, error }));
  if (!(await endsWithin(failed, limitMs))) Logger.warn(`Not waited for any longer: ${what}`, 'Stop');
}

const TAKING_MAIL = ['api', 'inbound', 'submission'] as const;

/** Monitors the disks that this process, or its embedded database, writes to. With an external database only workers write: their journal. */
function diskOf({ roles, dataDir, diskReserveBytes: reserveBytes }: AppConfig, folder: string | undefined): DiskSpace {
  if (folder !== undefined) return new DiskSpace({ folders: [...new Set([folder, dataDir])], reserveBytes });
  const takesMail = TAKING_MAIL.some((role) => roles.has(role));
  return new DiskSpace({ folders: roles.has('worker') ? [dataDir] : [], reserveBytes, takesMail });
}

/** The health routes, with the same responses as over HTTP in the role api. */
function healthRoutes(health: HealthService): ProbeRoutes {
  return {
    '/health': () => ({ status: 200, body: health.live() }),
    '/health/startup': async () => {
      const body = await health.ready();
      return { status: body.status === 'ready' ? 200 : 503, body };
    },
    '/health/detailed': async () => {
      const body = await health.report();
      return { status: body.status === 'unhealthy' ? 503 : 200, body };
    },
  };
}

function adapterFor(config: AppConfig, { draining, metrics, tracing, bodies }: Observers, logger: Log) {
  return createHttpAdapter({
    trustProxy: config.http.trustProxy,
    strictTransport: config.http.publicUrl.startsWith('https:'),
    tenantScopes: config.database.rowLevelSecurity,
    draining,
    bodyBudget: bodies,
    log: observeRequests(metrics, logRequestsTo(logger, metrics)),
    ...(tracing.isOn && { startSpan: (traceParent) => tracing.startRequest(traceParent) }),
    translateError: translateDatabaseError,
  });
}

/** @param wanted 0: another free port is taken when the chosen one is in use meanwhile */
async function listen(
  app: NestExpressApplication,
  config: AppConfig,
  wanted: number,
  prepare: Preparation = async () => {},
): Promise<void> {
  const { http, delivery, console: settings } = config;
  const pages = [...(settings.enabled ? ['/console'] : []), ...(delivery.mode === 'local' ? ['/mailbox'] : [])];
  setUpDocs(app, buildOpenApiDocument(app), pages);
  await app.init();
  await prepare(app);
  const opening = app.listen(http.port, http.host).catch((error: NodeJS.ErrnoException) => {
    if (wanted !== 0 || error.code !== 'EADDRINUSE') throw error;
    return app.listen(0, http.host);
  });
  await opensPort('PORT', http, opening);
}

function portOf(app: NestExpressApplication): number {
  const address = (app.getHttpServer() as { address(): { port: number } | string | null }).address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/**
 * With `PORT=0`, chooses a free port before anything starts, because links in mail contain it unless `PUBLIC_URL` is set.
 * Another process may take it meanwhile.
 */
export async function withChosenPort(config: AppConfig): Promise<AppConfig> {
  const { http, roles } = config;
  if (http.port !== 0 || !roles.has('api')) return config;
  // An address that cannot be bound is reported by the listener.
  const port = await freePort(http.host).catch(() => 0);
  return { ...config, http: { ...http, port, publicUrl: withPort(http.publicUrl, port) } };
}

function withPort(publicUrl: string, port: number): string {
  return publicUrl === 'http://localhost:0' ? `http://localhost:${port}` : publicUrl;
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
