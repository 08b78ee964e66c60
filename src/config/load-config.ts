import 'reflect-metadata';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { closest, distance } from 'fastest-levenshtein';
import { parseUrl } from '../common/network';
import { type AppConfig, type Role, ROLES } from './config';
import { unusableDataDir } from './data-dir';
import { Environment, HOST_NAME, isAddressOrName, isDnsServer } from './environment';
import { StoredMasterKey } from './master-key';
import { availableMemory } from './memory';
import { portProblems } from './ports';
import {
  list,
  type MasterKeys,
  nameServersOf,
  parseRelay,
  parseRequestLimits,
  toConfig,
  tracingProblems,
} from './to-config';
import { notProxies, parseTrustProxy } from './trust-proxy';

/** The environment is not valid. Names every bad variable, never its value. */
export class ConfigurationError extends Error {
  /** One sentence each. */
  constructor(readonly problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigurationError';
  }
}

/** Whether the operator has set a variable. An empty value counts as absent. */
export function isVariableSet(name: string, env: NodeJS.ProcessEnv = process.env): boolean {
  return Boolean(env[name]);
}

/** The value of a variable. An empty value counts as absent. */
export function variableOf(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env[name] || undefined;
}

/**
 * Reads and validates the environment. An empty value counts as absent.
 * @param overrides win over the environment
 * @param createKey makes the stored master key where an embedded database is to be made; else there has to be one
 * @throws ConfigurationError
 */
export function loadConfig(
  processEnvironment: NodeJS.ProcessEnv = process.env,
  overrides: NodeJS.ProcessEnv = {},
  createKey = true,
): AppConfig {
  const env = { ...processEnvironment, ...overrides };
  const known = new Environment();
  const given = Object.fromEntries(
    Object.keys({ ...known, ...optionalNames }).flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  );
  const environment = plainToInstance(Environment, given, { exposeDefaultValues: true });
  const invalid = validateSync(environment);
  const combined = [crossChecks, portProblems, trustProxyProblems, pairProblems, tracingProblems];
  const rules = combined.flatMap((problemsOf) => problemsOf(environment));
  const problems = [...invalid.map(sentenceOf), ...rules.filter((rule) => !isConsequence(rule, invalid))];
  if (problems.length > 0) throw new ConfigurationError(problems);
  return toConfig(environment, masterKeysOf(environment, createKey));
}

/** Shorter names, such as PORT, are similar to too many others. */
const LEAST_MISSPELLED_LENGTH = 8;
/** What `compose.yaml` reads itself, and hands on with the rest of `.env`. */
const OF_COMPOSE = ['HTTP_PORT'];

/**
 * Unknown variables that differ from a known one by a letter or two, or by `WAYBILL_`: they would be ignored silently. Not an error,
 * since other programs use the environment too.
 *
 * @returns one sentence for each
 */
export function misspelledVariables(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = Object.keys({ ...new Environment(), ...optionalNames });
  return Object.keys(env).flatMap((name) => {
    const meant = known.includes(name) || OF_COMPOSE.includes(name) ? undefined : meantBy(name, known);
    return meant === undefined ? [] : [`${name} is not a setting, and nothing reads it: ${meant} is one`];
  });
}

function meantBy(name: string, known: readonly string[]): string | undefined {
  const prefixed = known.find((setting) => setting === `WAYBILL_${name}` || `WAYBILL_${setting}` === name);
  if (prefixed !== undefined || name.length < LEAST_MISSPELLED_LENGTH) return prefixed;
  const nearest = closest(name.toUpperCase(), known);
  return nearest.endsWith(`_${name}`) || distance(name.toUpperCase(), nearest) <= 2 ? nearest : undefined;
}

/** Optional variables have no default, so an instance does not show their names. */
const optionalNames: Record<string, undefined> = {
  HOST: undefined,
  DATABASE_URL: undefined,
  DATABASE_DIRECT_URL: undefined,
  DATABASE_READ_URL: undefined,
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
  TLS_CERT_FILE: undefined,
  TLS_KEY_FILE: undefined,
  OTEL_EXPORTER_OTLP_ENDPOINT: undefined,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: undefined,
  OTEL_EXPORTER_OTLP_PROTOCOL: undefined,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: undefined,
  OTEL_TRACES_EXPORTER: undefined,
  CLASSIFICATION_RULES: undefined,
  EGRESS_POOLS: undefined,
  EGRESS_WARM_UP: undefined,
  TLS_REPORT_ORGANIZATION: undefined,
  TLS_REPORT_CONTACT: undefined,
};

/** One problem per variable: its type before its range. */
function sentenceOf({ property, constraints = {} }: ValidationError): string {
  const isBound = (rule: string) => Number(rule === 'min' || rule === 'max');
  const rules = Object.keys(constraints).sort((a, b) => isBound(a) - isBound(b));
  const said = rules.map((rule) => (constraints[rule] ?? '').replace(`${property} `, ''));
  return `${property} ${said.join(', ')}`;
}

/** A rule that does not hold because of a variable that has its own problem would be a second line about one mistake. */
function isConsequence(rule: string, invalid: readonly ValidationError[]): boolean {
  return invalid.some(({ property }) => new RegExp(`\\b${property}\\b`).test(rule));
}

/** Rules over several variables, each with the problem to report when it does not hold. */
function crossChecks(environment: Environment): string[] {
  const { DELIVERY_MODE: mode, MAIL_HOST, PUBLIC_URL } = environment;
  const roles = list(environment.WAYBILL_ROLES);
  const areRoles = roles.length > 0 && roles.every((role) => role === 'all' || ROLES.includes(role as Role));
  const checks: [boolean, string][] = [
    [areRoles, `WAYBILL_ROLES must be a comma list of ${ROLES.join(', ')}, or all`],
    [
      mode !== 'relay' || parseRelay(environment.RELAY_URL) !== undefined,
      'RELAY_URL must be smtp[s]://[user:password@]host[:port] when DELIVERY_MODE is relay',
    ],
    [
      PUBLIC_URL === undefined || isBaseUrl(PUBLIC_URL),
      'PUBLIC_URL must be a URL of host, port and path only: links in mail are made by adding to it',
    ],
    [
      mode !== 'direct' || MAIL_HOST !== undefined,
      'MAIL_HOST must be set when DELIVERY_MODE is direct: it is the EHLO name and the return-path host',
    ],
    ...databaseChecks(environment),
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
    [isAddressOrName(environment.METRICS_HOST), 'METRICS_HOST must be an address or a host name of this machine'],
    [
      parseRequestLimits(environment.RATE_LIMITS) !== undefined,
      'RATE_LIMITS must be a JSON object of positive integers',
    ],
  ];
  return checks.filter(([holds]) => !holds).map(([, problem]) => problem);
}

/** A user, a query or a fragment would be left out of every link. */
function isBaseUrl(text: string): boolean {
  const url = parseUrl(text);
  return url !== undefined && url.username + url.password === '' && !/[?#]/.test(text);
}

const DATABASE_URLS = ['DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATABASE_READ_URL'] as const;

function databaseChecks(environment: Environment): [boolean, string][] {
  const { DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_READ_URL, MASTER_KEY } = environment;
  const largestBuffers = Math.max(
    new Environment().EMBEDDED_SHARED_BUFFERS_MB,
    Math.floor(availableMemory() / 2 / 1024 / 1024),
  );
  return [
    ...DATABASE_URLS.map((name): [boolean, string] => databaseUrlCheck(name, environment[name] ?? 'postgres://')),
    [
      DATABASE_URL === undefined || MASTER_KEY !== undefined,
      'MASTER_KEY must be set (32 bytes in base64) when DATABASE_URL is: it encrypts the DKIM keys',
    ],
    [
      DATABASE_URL !== undefined || (DATABASE_DIRECT_URL === undefined && DATABASE_READ_URL === undefined),
      'DATABASE_URL must be set when DATABASE_DIRECT_URL or DATABASE_READ_URL is: they are further ways to that database',
    ],
    [
      DATABASE_URL !== undefined || !(environment.EMBEDDED_SHARED_BUFFERS_MB > largestBuffers),
      `EMBEDDED_SHARED_BUFFERS_MB must be at most ${largestBuffers}, half of the memory here`,
    ],
  ];
}

function databaseUrlCheck(name: string, url: string): [boolean, string] {
  // libpq takes several hosts, and connects to the first one that accepts changes; the driver does not.
  if (/^\w+:\/\/([^/?#]*@)?[^/?#@]*,/.test(url)) {
    return [false, `${name} must name one host, which leads to the primary, not several (docs/scaling.md#a-standby)`];
  }
  const hint = 'write the characters / # ? @ of a password as %2F %23 %3F %40';
  return [parseUrl(url) !== undefined, `${name} must be a valid URL: ${hint}`];
}

function pairProblems(environment: Environment): string[] {
  const pairs = [
    ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
    ['TLS_REPORT_ORGANIZATION', 'TLS_REPORT_CONTACT'],
  ] as const;
  return pairs
    .filter(([one, other]) => (environment[one] === undefined) !== (environment[other] === undefined))
    .map(([one, other]) => `${one} and ${other} must be set together`);
}

function trustProxyProblems({ TRUST_PROXY }: Environment): string[] {
  const entries = list(TRUST_PROXY);
  if (parseTrustProxy(entries) !== undefined) return [];
  const unfit = notProxies(entries).join(', ').slice(0, 200);
  const forms = 'true, false, a number of proxies, or a comma list of their addresses and networks';
  return [`TRUST_PROXY must be ${forms} (10.0.0.0/8, 2001:db8::1), not ${unfit}`];
}

function masterKeysOf(environment: Environment, createKey: boolean): MasterKeys {
  const { MASTER_KEY, MASTER_KEY_PREVIOUS } = environment;
  const previous = MASTER_KEY_PREVIOUS ? Buffer.from(MASTER_KEY_PREVIOUS, 'base64') : undefined;
  if (MASTER_KEY) return { masterKey: Buffer.from(MASTER_KEY, 'base64'), previousMasterKey: previous };
  const dataDir = resolve(environment.WAYBILL_DATA_DIR);
  const stored = new StoredMasterKey(dataDir);
  try {
    const masterKey = stored.readOrCreate(createKey);
    return { masterKey, previousMasterKey: previous ?? stored.readPrevious() };
  } catch (error) {
    throw new ConfigurationError([unusableDataDir(dataDir, error) ?? (error as Error).message]);
  }
}

function isWithin(host: string, zone: string | undefined): boolean {
  return zone !== undefined && `.${host}`.endsWith(`.${zone.toLowerCase()}`);
}

/**
 * Reads `.env` of the working directory into the environment, when there is one. A variable that is set already wins.
 *
 * @throws ConfigurationError when it is there but cannot be read.
 */
export function loadEnvFile(file = '.env'): void {
  const found = statSync(file, { throwIfNoEntry: false });
  // Some tools keep a folder of that name; it is ignored.
  if (!found || found.isDirectory()) return;
  for (const [name, value] of Object.entries(parseEnv(readText(file)))) process.env[name] ??= value;
}

/** Without the byte order mark that some editors write, which would become a part of the first name. */
function readText(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    const reason = error instanceof TypeError ? 'it is not UTF-8' : (error as Error).message;
    throw new ConfigurationError([`${file} cannot be read: ${reason}`]);
  }
}
