import 'reflect-metadata';
import { resolve } from 'node:path';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { parseUrl } from '../common/network';
import type { AppConfig, RelayConfig } from './config';
import { unusableDataDir } from './data-dir';
import { Environment, HOST_NAME } from './environment';
import { StoredMasterKey } from './master-key';
import { isAddressOrName, isDnsServer } from './network-names';
import { ROLES, type Role } from './roles';

/** A start with a bad environment is refused; names every bad variable, never its value. */
export class ConfigurationError extends Error {
  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigurationError';
  }
}

/** Reads and checks the environment. An empty variable counts as absent. */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): AppConfig {
  const known = new Environment();
  const given = Object.fromEntries(
    Object.keys({ ...known, ...optionalNames }).flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  );
  const environment = plainToInstance(Environment, given, { exposeDefaultValues: true });
  const problems = validateSync(environment).flatMap((error) => Object.values(error.constraints ?? {}));
  problems.push(...crossChecks(environment));
  if (problems.length > 0) throw new ConfigurationError(problems);
  return toConfig(environment);
}

/** Optional variables have no default, so an instance does not show their names. */
const optionalNames: Record<string, undefined> = {
  HOST: undefined,
  DATABASE_URL: undefined,
  RELAY_URL: undefined,
  DNS_SERVERS: undefined,
  MAIL_HOST: undefined,
  DKIM_ZONE: undefined,
  DKIM_ZONE_SERVERS: undefined,
  SPF_HOST: undefined,
  BOUNCE_HOST: undefined,
  TRACKING_HOST: undefined,
  DMARC_REPORT_ADDRESS: undefined,
  PUBLIC_URL: undefined,
  MASTER_KEY: undefined,
  MASTER_KEY_PREVIOUS: undefined,
  RATE_LIMITS: undefined,
};

/** What no single variable's rule can tell: each with what is wrong when it does not hold. */
function crossChecks(environment: Environment): string[] {
  const { DELIVERY_MODE: mode, MAIL_HOST, DATABASE_URL, MASTER_KEY, PUBLIC_URL } = environment;
  const roles = list(environment.WAYBILL_ROLES);
  const areRoles = roles.length > 0 && roles.every((role) => role === 'all' || ROLES.includes(role as Role));
  const checks: [boolean, string][] = [
    [areRoles, `WAYBILL_ROLES must be a comma list of ${ROLES.join(', ')}, or all`],
    [
      mode !== 'relay' || parseRelay(environment.RELAY_URL) !== undefined,
      'RELAY_URL must be smtp[s]://[user:password@]host[:port] when DELIVERY_MODE is relay',
    ],
    [PUBLIC_URL === undefined || parseUrl(PUBLIC_URL) !== undefined, 'PUBLIC_URL must be a URL'],
    [
      mode !== 'direct' || MAIL_HOST !== undefined,
      'MAIL_HOST must be set when DELIVERY_MODE is direct: it is the EHLO name and the return-path host',
    ],
    [
      DATABASE_URL === undefined || MASTER_KEY !== undefined,
      'MASTER_KEY must be set (32 bytes in base64) when DATABASE_URL is: it encrypts the DKIM keys',
    ],
    [
      nameServersOf(environment).every((host) => HOST_NAME.test(host) && !isWithin(host, environment.DKIM_ZONE)),
      'DKIM_ZONE_SERVERS (by default MAIL_HOST) must be a comma list of host names outside DKIM_ZONE: the zone has no addresses',
    ],
    [
      list(environment.DNS_SERVERS).every(isDnsServer),
      'DNS_SERVERS must be a comma list of addresses, each with a port or without (192.0.2.53:53, [2001:db8::53]:53), no names',
    ],
    [
      environment.HOST === undefined || isAddressOrName(environment.HOST),
      'HOST must be an address or a host name of this machine',
    ],
    [
      parseRequestLimits(environment.RATE_LIMITS) !== undefined,
      'RATE_LIMITS must be a JSON object of positive integers',
    ],
  ];
  return checks.filter(([holds]) => !holds).map(([, problem]) => problem);
}

function toConfig(environment: Environment): AppConfig {
  const local = environment.DELIVERY_MODE === 'local';
  const host = environment.HOST ?? (local ? '127.0.0.1' : '0.0.0.0');
  return {
    roles: new Set(parseRoles(environment.WAYBILL_ROLES)),
    dataDir: resolve(environment.WAYBILL_DATA_DIR),
    logLevel: environment.LOG_LEVEL,
    ...toMasterKeys(environment),
    http: {
      host,
      port: environment.PORT,
      metricsPort: environment.METRICS_PORT,
      publicUrl: toBaseUrl(environment.PUBLIC_URL ?? `http://localhost:${environment.PORT}`),
      trustProxy: environment.TRUST_PROXY,
    },
    database: {
      url: environment.DATABASE_URL,
      poolSize: environment.DATABASE_POOL_SIZE,
      migrateOnStart: environment.MIGRATE_ON_START,
    },
    delivery: toDelivery(environment),
    dns: toDns(environment),
    limits: {
      rateLimitEnabled: environment.RATE_LIMIT_ENABLED,
      warmupEnabled: environment.WARMUP_ENABLED,
      testRecipientsPerDay: environment.TEST_RECIPIENTS_PER_DAY,
      testRecipientsPerLifetime: environment.TEST_RECIPIENTS_PER_LIFETIME,
      testRequestsPerHour: environment.TEST_REQUESTS_PER_HOUR,
      requestLimits: parseRequestLimits(environment.RATE_LIMITS) ?? {},
    },
    webhooks: { allowPrivate: environment.WEBHOOK_ALLOW_PRIVATE },
    retention: toRetention(environment),
    inboundSmtpPort: environment.INBOUND_SMTP_PORT,
    simulatorDomain: environment.SIMULATOR_DOMAIN.toLowerCase(),
  };
}

/** As it stands in mail: ASCII, without a query and without a slash at the end. */
function toBaseUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return (origin + pathname).replace(/\/+$/, '');
}

function toMasterKeys(environment: Environment): Pick<AppConfig, 'masterKey' | 'previousMasterKey'> {
  const { MASTER_KEY, MASTER_KEY_PREVIOUS } = environment;
  const stored = new StoredMasterKey(resolve(environment.WAYBILL_DATA_DIR));
  const masterKey = MASTER_KEY ? Buffer.from(MASTER_KEY, 'base64') : readOrCreate(stored, environment);
  if (MASTER_KEY_PREVIOUS) return { masterKey, previousMasterKey: Buffer.from(MASTER_KEY_PREVIOUS, 'base64') };
  return { masterKey, previousMasterKey: MASTER_KEY ? undefined : stored.readPrevious() };
}

function readOrCreate(stored: StoredMasterKey, { WAYBILL_DATA_DIR }: Environment): Buffer {
  try {
    return stored.readOrCreate();
  } catch (error) {
    throw new ConfigurationError([unusableDataDir(resolve(WAYBILL_DATA_DIR), error) ?? (error as Error).message]);
  }
}

function toDelivery(environment: Environment): AppConfig['delivery'] {
  return {
    mode: environment.DELIVERY_MODE,
    relay: environment.DELIVERY_MODE === 'relay' ? parseRelay(environment.RELAY_URL) : undefined,
    smtpPort: environment.SMTP_PORT,
    allowPrivateDestinations: environment.ALLOW_PRIVATE_DESTINATIONS,
    dnsServers: list(environment.DNS_SERVERS),
    mailHost: mailHostOf(environment),
    concurrency: environment.DELIVERY_CONCURRENCY,
    connectionsPerHost: environment.CONNECTIONS_PER_HOST,
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

/** What is not named is derived from the mail host. */
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

function nameServersOf(environment: Environment): string[] {
  const named = list(environment.DKIM_ZONE_SERVERS).map((host) => host.toLowerCase());
  return named.length > 0 ? named : [mailHostOf(environment)];
}

function isWithin(host: string, zone: string | undefined): boolean {
  return zone !== undefined && `.${host}`.endsWith(`.${zone.toLowerCase()}`);
}

function list(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function parseRoles(value: string): Role[] {
  const named = list(value);
  return named.includes('all') ? [...ROLES] : ROLES.filter((role) => named.includes(role));
}

/** `smtp[s]://[user:password@]host[:port]`; undefined when it is not one. */
export function parseRelay(value: string | undefined): RelayConfig | undefined {
  if (!value || /%(?![0-9a-f]{2})/i.test(value)) return undefined;
  const url = parseUrl(value);
  if (!url || url.hostname === '' || !['smtp:', 'smtps:'].includes(url.protocol)) return undefined;
  const implicitTls = url.protocol === 'smtps:';
  const port = url.port === '' ? (implicitTls ? 465 : 587) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.username === '') return { host, port, implicitTls };
  return {
    host,
    port,
    implicitTls,
    auth: { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) },
  };
}

function parseRequestLimits(value: string | undefined): Record<string, number> | undefined {
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
