import { resolve } from 'node:path';
import { parseUrl } from '../common/network';
import { OTLP_PROTOCOLS, type OtlpProtocol } from '../common/tracing/tracing';
import { type AppConfig, type RelayConfig, type Role, ROLES } from './config';
import type { Environment } from './environment';
import { parseTrustProxy } from './trust-proxy';

export type MasterKeys = Pick<AppConfig, 'masterKey' | 'previousMasterKey'>;

/** The grouped configuration of a validated environment. */
export function toConfig(environment: Environment, masterKeys: MasterKeys): AppConfig {
  return {
    roles: new Set(parseRoles(environment.WAYBILL_ROLES)),
    dataDir: resolve(environment.WAYBILL_DATA_DIR),
    logLevel: environment.LOG_LEVEL,
    tracing: toTracing(environment),
    logDeliveries: environment.LOG_DELIVERIES,
    ...masterKeys,
    http: {
      host: hostOf(environment),
      port: environment.PORT,
      metricsPort: environment.METRICS_PORT,
      metricsHost: environment.METRICS_HOST,
      shutdownDelaySeconds: environment.SHUTDOWN_DELAY_SECONDS,
      publicUrl: toBaseUrl(environment.PUBLIC_URL ?? `http://localhost:${environment.PORT}`),
      heldBodyBytes: environment.BODY_MEMORY_MB * 1024 * 1024,
      trustProxy: parseTrustProxy(list(environment.TRUST_PROXY)) ?? false,
    },
    database: toDatabase(environment),
    delivery: toDelivery(environment),
    dns: toDns(environment),
    limits: toLimits(environment),
    console: { enabled: environment.CONSOLE_ENABLED },
    tlsReports: toTlsReports(environment),
    webhooks: { allowPrivate: environment.WEBHOOK_ALLOW_PRIVATE },
    retention: toRetention(environment),
    diskReserveBytes: environment.DISK_RESERVE_MB * 1024 * 1024,
    inboundSmtpPort: environment.INBOUND_SMTP_PORT,
    submission: { port: environment.SUBMISSION_PORT, implicitTlsPort: environment.SUBMISSIONS_PORT },
    certificate: toCertificate(environment),
    simulatorDomain: environment.SIMULATOR_DOMAIN.toLowerCase(),
  };
}

/** Where this process listens, but for metrics. */
export function hostOf({ HOST, DELIVERY_MODE }: Environment): string {
  return HOST ?? (DELIVERY_MODE === 'local' ? '127.0.0.1' : '0.0.0.0');
}

function toTlsReports(environment: Environment): AppConfig['tlsReports'] {
  const { TLS_REPORT_ORGANIZATION: organization, TLS_REPORT_CONTACT: contact } = environment;
  return organization !== undefined && contact !== undefined ? { organization, contact } : undefined;
}

function toCertificate(environment: Environment): AppConfig['certificate'] {
  const { TLS_CERT_FILE: certificateFile, TLS_KEY_FILE: keyFile } = environment;
  return certificateFile !== undefined && keyFile !== undefined ? { certificateFile, keyFile } : undefined;
}

function toLimits(environment: Environment): AppConfig['limits'] {
  return {
    rateLimitEnabled: environment.RATE_LIMIT_ENABLED,
    warmupEnabled: environment.WARMUP_ENABLED,
    testRecipientsPerDay: environment.TEST_RECIPIENTS_PER_DAY,
    testRecipientsPerLifetime: environment.TEST_RECIPIENTS_PER_LIFETIME,
    testRequestsPerHour: environment.TEST_REQUESTS_PER_HOUR,
    openDeliveries: environment.OPEN_DELIVERIES_PER_ORGANIZATION,
    inboundStoredBytes: environment.INBOUND_STORAGE_MB * 1024 * 1024,
    requestLimits: parseRequestLimits(environment.RATE_LIMITS) ?? {},
  };
}

/** The endpoint and the protocol of traces as given, the variables of traces before those of all signals; undefined: tracing is off. */
function givenTracing(environment: Environment) {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_EXPORTER_OTLP_ENDPOINT: shared } = environment;
  const isWanted = !environment.OTEL_SDK_DISABLED && environment.OTEL_TRACES_EXPORTER !== 'none';
  const endpoint = own ?? shared;
  if (endpoint === undefined || !isWanted) return undefined;
  const { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: ownProtocol, OTEL_EXPORTER_OTLP_PROTOCOL: sharedProtocol } = environment;
  return {
    endpoint,
    isOwn: own !== undefined,
    ownProtocol,
    protocol: ownProtocol ?? sharedProtocol ?? 'http/protobuf',
  };
}

function toTracing(environment: Environment): OtlpProtocol | undefined {
  const protocol = givenTracing(environment)?.protocol;
  return OTLP_PROTOCOLS.find((known) => known === protocol);
}

/** What is wrong with the variables of traces: the exporter would use a default in place of an address that it cannot read. */
export function tracingProblems(environment: Environment): string[] {
  const given = givenTracing(environment);
  if (given === undefined) return [];
  const protocolName =
    given.ownProtocol === undefined ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';
  const endpointName = given.isOwn ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT';
  const isKnown = toTracing(environment) !== undefined;
  const isWeb = /^https?:$/.test(parseUrl(given.endpoint)?.protocol ?? '');
  return [
    ...(isKnown ? [] : [`${protocolName} must be ${OTLP_PROTOCOLS.join(' or ')}`]),
    ...(isWeb ? [] : [`${endpointName} must be a URL that begins with http:// or https://`]),
  ];
}

/** The base URL as it is written in mail: ASCII, without trailing slash. */
function toBaseUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return (origin + pathname).replace(/\/+$/, '');
}

/**
 * A database's URL with the `sslmode` that the driver takes these for. It would warn of them in several lines that are not of the log, and
 * a later version of it would check less.
 */
function withFullVerification(url: string | undefined): string | undefined {
  const query = parseUrl(url ?? '')?.searchParams;
  if (query === undefined || query.get('uselibpqcompat') === 'true') return url;
  return url?.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|#|$)/g, '$1verify-full');
}

function toDatabase(environment: Environment): AppConfig['database'] {
  return {
    url: withFullVerification(environment.DATABASE_URL),
    directUrl: withFullVerification(environment.DATABASE_DIRECT_URL),
    readUrl: withFullVerification(environment.DATABASE_READ_URL),
    readMaxLagSeconds: environment.DATABASE_READ_MAX_LAG_SECONDS,
    poolSize: environment.DATABASE_POOL_SIZE,
    migrateOnStart: environment.MIGRATE_ON_START,
    rowLevelSecurity: environment.ROW_LEVEL_SECURITY,
    embeddedSharedBuffersMegabytes: environment.EMBEDDED_SHARED_BUFFERS_MB,
  };
}

/** An empty value counts as absent, so "no block lists" is written as `none`. */
function toBlockLists({ DELIVERY_MODE, BLOCK_LISTS }: Environment): readonly string[] {
  return DELIVERY_MODE === 'direct' && BLOCK_LISTS.trim() !== 'none' ? list(BLOCK_LISTS) : [];
}

function toDelivery(environment: Environment): AppConfig['delivery'] {
  return {
    mode: environment.DELIVERY_MODE,
    relay: environment.DELIVERY_MODE === 'relay' ? parseRelay(environment.RELAY_URL) : undefined,
    lifeHours: {
      transactional: environment.MESSAGE_LIFE_TRANSACTIONAL_HOURS,
      bulk: environment.MESSAGE_LIFE_BULK_HOURS,
    },
    classificationRules: environment.CLASSIFICATION_RULES,
    egressPools: environment.EGRESS_POOLS,
    blockLists: toBlockLists(environment),
    egressWarmUp: environment.EGRESS_WARM_UP,
    preferIpv6: environment.PREFER_IPV6,
    tlsMode: environment.TLS_MODE,
    dnssecTrusted: environment.DNSSEC_TRUSTED,
    smtpPort: environment.SMTP_PORT,
    mtaStsPort: environment.MTA_STS_PORT,
    allowPrivateDestinations: environment.ALLOW_PRIVATE_DESTINATIONS,
    dnsServers: list(environment.DNS_SERVERS),
    mailHost: mailHostOf(environment),
    concurrency: environment.DELIVERY_CONCURRENCY,
    connectionsPerHost: environment.CONNECTIONS_PER_HOST,
    workerMemoryBytes: environment.WORKER_MEMORY_MB * 1024 * 1024,
    drainSeconds: environment.DRAIN_SECONDS,
    leaseSeconds: environment.LEASE_SECONDS,
  };
}

function mailHostOf({ MAIL_HOST }: Environment): string {
  return (MAIL_HOST ?? 'mail.waybill.test').toLowerCase();
}

function toRetention(environment: Environment): AppConfig['retention'] {
  return {
    contentDays: environment.RETENTION_CONTENTS_DAYS,
    emailMonths: environment.RETENTION_EMAILS_MONTHS,
    webhookDays: environment.RETENTION_WEBHOOKS_DAYS,
    idempotencyHours: environment.RETENTION_IDEMPOTENCY_HOURS,
    exportDays: environment.RETENTION_EXPORTS_DAYS,
    auditMonths: environment.RETENTION_AUDIT_MONTHS,
    inboundDays: environment.RETENTION_INBOUND_DAYS,
  };
}

/** Names that are not set are derived from the mail host. */
function toDns(environment: Environment): AppConfig['dns'] {
  const mailHost = mailHostOf(environment);
  const { DKIM_ZONE, SPF_HOST, BOUNCE_HOST, TRACKING_HOST, DMARC_REPORT_ADDRESS } = environment;
  return {
    port: environment.DNS_PORT,
    dkimZone: DKIM_ZONE?.toLowerCase(),
    nameServerHosts: nameServersOf(environment),
    spfHost: (SPF_HOST ?? `spf.${mailHost}`).toLowerCase(),
    bounceHost: (BOUNCE_HOST ?? mailHost).toLowerCase(),
    trackingHost: (TRACKING_HOST ?? `click.${mailHost}`).toLowerCase(),
    dmarcReportAddress: DMARC_REPORT_ADDRESS ?? `dmarc@${mailHost}`,
  };
}

/** Host names of the delegated zone's name servers, in lower case. */
export function nameServersOf(environment: Environment): string[] {
  const named = list(environment.DKIM_ZONE_SERVERS).map((host) => host.toLowerCase());
  return named.length > 0 ? named : [mailHostOf(environment)];
}

/** The trimmed parts of a text between commas, without empty ones. */
export function list(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** The roles of a comma list, each once. */
export function parseRoles(value: string): Role[] {
  const named = list(value);
  return named.includes('all') ? [...ROLES] : ROLES.filter((role) => named.includes(role));
}

/** `smtp[s]://[user:password@]host[:port]`; undefined when it is not one. */
export function parseRelay(value: string | undefined): RelayConfig | undefined {
  if (!value || /%(?![0-9a-f]{2})/i.test(value)) return undefined;
  const url = parseUrl(value);
  if (!url || url.hostname === '' || url.port === '0' || !['smtp:', 'smtps:'].includes(url.protocol)) return undefined;
  const implicitTls = url.protocol === 'smtps:';
  const port = url.port === '' ? (implicitTls ? 465 : 587) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (url.username === '') return { host, port, implicitTls };
  return {
    host,
    port,
    implicitTls,
    auth: { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) },
  };
}

/** Requests by class, from a JSON object of positive integers; undefined for any other text. */
export function parseRequestLimits(value: string | undefined): Record<string, number> | undefined {
  if (!value) return {};
  try {
    const parsed: unknown = JSON.parse(value);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
    const entries = Object.entries(parsed as Record<string, unknown>);
    const valid = entries.every(([, limit]) => Number.isInteger(limit) && (limit as number) > 0);
    return valid ? (Object.fromEntries(entries) as Record<string, number>) : undefined;
  } catch {
    return undefined;
  }
}
