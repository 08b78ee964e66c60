import { Resolver } from 'node:dns/promises';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os, { tmpdir } from 'node:os';
import path, { join } from 'node:path';
import { ConfigurationError, loadConfig, loadEnvFile, misspelledVariables } from './load-config';
import { parseRelay } from './to-config';

const KEY = Buffer.alloc(32, 7).toString('base64');
let dataDir: string;

beforeAll(() => (dataDir = mkdtempSync(join(tmpdir(), 'waybill-config-'))));
afterAll(() => rmSync(dataDir, { recursive: true }));

const load = (env: Record<string, string>) => loadConfig({ WAYBILL_DATA_DIR: dataDir, MASTER_KEY: KEY, ...env });

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    load(env);
    return [];
  } catch (error) {
    return (error as ConfigurationError).problems;
  }
}

describe('misspelledVariables', () => {
  it.each([
    ['RETENTION_CONTENT_DAYS', 'RETENTION_CONTENTS_DAYS'],
    ['DELIVERY_CONCURENCY', 'DELIVERY_CONCURRENCY'],
    ['database_url', 'DATABASE_URL'],
    ['DATA_DIR', 'WAYBILL_DATA_DIR'],
    ['ROLES', 'WAYBILL_ROLES'],
    ['WAYBILL_DATABASE_URL', 'DATABASE_URL'],
    ['WAYBILL_PORT', 'PORT'],
  ])('finds %s', (name, meant) => {
    expect(misspelledVariables({ [name]: 'x' })).toEqual([
      `${name} is not a setting, and nothing reads it: ${meant} is one`,
    ]);
  });

  it('finds none among our own, and those of other programs', () => {
    const names = [
      'DATABASE_URL',
      'OTEL_SERVICE_NAME',
      'NODE_OPTIONS',
      'POSTGRES_PASSWORD',
      'WAYBILL_SERVICE_HOST',
      'HOME',
    ];
    const ofCompose = ['HTTP_PORT', 'INBOUND_PORT', 'TLS_FOLDER', 'WAYBILL_IMAGE', 'WAYBILL_KEY'];
    const others = [
      ...ofCompose,
      'HOSTNAME',
      'SSH_CONNECTION',
      'npm_config_port',
      'API_PORT',
      'MAIL',
      'SHLVL',
      'XDG_DATA_DIRS',
    ];
    expect(misspelledVariables(Object.fromEntries([...names, ...others].map((name) => [name, 'x'])))).toEqual([]);
  });
});

describe('loadConfig', () => {
  it('has defaults for a first start', () => {
    const config = loadConfig({ WAYBILL_DATA_DIR: dataDir });
    expect(config.http).toMatchObject({ host: '127.0.0.1', port: 3000, metricsPort: 9464, metricsHost: '127.0.0.1' });
    expect(config.delivery.mode).toBe('local');
    expect([...config.roles].sort()).toEqual(['api', 'dns', 'inbound', 'submission', 'worker']);
    expect(config.masterKey).toHaveLength(32);
    expect(statSync(join(dataDir, 'master.key')).mode & 0o777).toBe(0o600);
    expect(loadConfig({ WAYBILL_DATA_DIR: dataDir }).masterKey).toEqual(config.masterKey);
  });

  it('gives mail four days, or what a category has, and asks block lists in direct mode only', () => {
    expect(load({}).delivery).toMatchObject({ lifeHours: { transactional: 96, bulk: 96 }, blockLists: [] });
    const given = { MESSAGE_LIFE_BULK_HOURS: '24', BLOCK_LISTS: 'a.example, b.example' };
    const direct = { DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.example.com' };
    expect(load({ ...direct, ...given }).delivery).toMatchObject({
      ...{ lifeHours: { transactional: 96, bulk: 24 }, blockLists: ['a.example', 'b.example'] },
    });
    expect(load({ ...direct, BLOCK_LISTS: 'none' }).delivery.blockLists).toEqual([]);
    expect(load({ ...direct, BLOCK_LISTS: '' }).delivery.blockLists).toHaveLength(3);
  });

  it('makes no new master key where the one of a database is missing', () => {
    const folder = mkdtempSync(join(dataDir, 'lost-'));
    const key = loadConfig({ WAYBILL_DATA_DIR: folder }).masterKey;
    mkdirSync(join(folder, 'pg18'));
    expect(loadConfig({ WAYBILL_DATA_DIR: folder }).masterKey).toEqual(key);
    rmSync(join(folder, 'master.key'));
    const missing = /master\.key is missing or empty, and the database beside it/;
    expect(() => loadConfig({ WAYBILL_DATA_DIR: folder })).toThrow(missing);
    expect(() => statSync(join(folder, 'master.key'))).toThrow('ENOENT');
    expect(loadConfig({ WAYBILL_DATA_DIR: folder, MASTER_KEY: KEY }).masterKey).toEqual(Buffer.from(KEY, 'base64'));
  });

  it.each([
    ['postgres://h/db?sslmode=require', 'postgres://h/db?sslmode=verify-full'],
    [
      'postgres://h/db?sslrootcert=/ca&sslmode=verify-ca&x=1',
      'postgres://h/db?sslrootcert=/ca&sslmode=verify-full&x=1',
    ],
    ['postgres://u:sslmode=require@h/db?sslmode=prefer', 'postgres://u:sslmode=require@h/db?sslmode=verify-full'],
    ...['postgres://h/db', 'postgres://h/db?sslmode=disable', 'postgres://h/db?sslmode=no-verify'].map((url) => [
      url,
      url,
    ]),
    ...['postgres://h/db?uselibpqcompat=true&sslmode=require', 'postgres://h/db?sslmode=required'].map((url) => [
      url,
      url,
    ]),
  ])('gives the driver %s as %s, of which it does not warn', (given, url) => {
    const urls = { DATABASE_URL: given, DATABASE_DIRECT_URL: given, DATABASE_READ_URL: given };
    expect(load(urls).database).toMatchObject({ url, directUrl: url, readUrl: url });
  });

  it('listens everywhere outside local mode, and treats empty variables as absent', () => {
    expect(load({ DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.example.com' }).http.host).toBe('0.0.0.0');
    expect(load({ PORT: '', HOST: '' }).http).toMatchObject({ port: 3000, host: '127.0.0.1' });
  });

  it.each([
    [{ PORT: '70000' }, 'PORT'],
    [{ PORT: '12abc' }, 'PORT'],
    [{ METRICS_PORT: '-1' }, 'METRICS_PORT'],
    [{ METRICS_HOST: '127.0.0.' }, 'METRICS_HOST'],
    [{ DATABASE_URL: 'mysql://x' }, 'DATABASE_URL'],
    [{ DATABASE_URL: 'postgres://u:secret@h/db', MASTER_KEY: '' }, 'MASTER_KEY'],
    [{ DATABASE_URL: 'postgres://u:secret/x@h:5432/db' }, 'DATABASE_URL must be a valid URL'],
    [{ DATABASE_URL: 'postgres://h/db', DATABASE_DIRECT_URL: 'postgres://u:p,w@h,i/db' }, 'URL must name one host'],
    [{ DATABASE_URL: 'postgres://h/db', DATABASE_READ_URL: 'postgres://:::' }, 'DATABASE_READ_URL must be a valid'],
    [{ MASTER_KEY: 'short' }, 'MASTER_KEY'],
    [{ MASTER_KEY_PREVIOUS: 'short' }, 'MASTER_KEY_PREVIOUS'],
    [{ DKIM_ZONE_SERVERS: 'ns1.example.com,192 0' }, 'DKIM_ZONE_SERVERS'],
    [{ DKIM_ZONE: 'dkim.example.com', DKIM_ZONE_SERVERS: 'ns.DKIM.example.com' }, 'DKIM_ZONE_SERVERS'],
    [{ DKIM_ZONE: 'example.com', MAIL_HOST: 'mail.example.com' }, 'DKIM_ZONE_SERVERS'],
    [{ WAYBILL_ROLES: 'api,mailman' }, 'WAYBILL_ROLES'],
    [{ DELIVERY_MODE: 'pigeon' }, 'DELIVERY_MODE'],
    [{ DELIVERY_MODE: 'relay' }, 'RELAY_URL'],
    [{ DELIVERY_MODE: 'relay', RELAY_URL: 'http://x' }, 'RELAY_URL'],
    [{ DELIVERY_MODE: 'relay', RELAY_URL: 'smtp://relay.example.com:0' }, 'RELAY_URL'],
    [{ SMTP_PORT: '0' }, 'SMTP_PORT'],
    [{ MTA_STS_PORT: '0' }, 'MTA_STS_PORT'],
    [{ DELIVERY_MODE: 'direct' }, 'MAIL_HOST'],
    [{ MAIL_HOST: 'mail host' }, 'MAIL_HOST'],
    [{ MAIL_HOST: '192.0.2.1' }, 'MAIL_HOST'],
    [{ BOUNCE_HOST: 'bounces.192' }, 'BOUNCE_HOST'],
    [{ DKIM_ZONE_SERVERS: '192.0.2.53' }, 'DKIM_ZONE_SERVERS'],
    [{ PUBLIC_URL: 'ftp://x' }, 'PUBLIC_URL'],
    [{ PUBLIC_URL: 'https://user:secret@mail.example.com' }, 'PUBLIC_URL'],
    [{ PUBLIC_URL: 'https://mail.example.com/?tenant=1' }, 'PUBLIC_URL'],
    [{ PUBLIC_URL: 'https://mail.example.com/#top' }, 'PUBLIC_URL'],
    [{ HOST: '127.0.0.1:3000' }, 'HOST'],
    [{ HOST: '127.0.0.256' }, 'HOST'],
    [{ DNS_SERVERS: 'resolver.example.com' }, 'DNS_SERVERS'],
    [{ DNS_SERVERS: '192.0.2.53,localhost:53' }, 'DNS_SERVERS'],
    [{ DNS_SERVERS: '192.0.2.53:0' }, 'DNS_SERVERS'],
    [{ DNS_SERVERS: '2001:db8::53:70000:x' }, 'DNS_SERVERS'],
    [{ SIMULATOR_DOMAIN: 'simulator domain' }, 'SIMULATOR_DOMAIN'],
    [{ RATE_LIMIT_ENABLED: 'perhaps' }, 'RATE_LIMIT_ENABLED'],
    [{ TRUST_PROXY: 'yes' }, 'TRUST_PROXY'],
    [{ RATE_LIMITS: '{"send":-1}' }, 'RATE_LIMITS'],
    [{ RATE_LIMITS: '[1]' }, 'RATE_LIMITS'],
    [{ RETENTION_CONTENTS_DAYS: '0' }, 'RETENTION_CONTENTS_DAYS'],
    [{ RETENTION_EMAILS_MONTHS: '13.5' }, 'RETENTION_EMAILS_MONTHS'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL'],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'protobuf' },
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://[' }, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'],
    [{ DELIVERY_CONCURRENCY: '0' }, 'DELIVERY_CONCURRENCY'],
    [{ EMBEDDED_SHARED_BUFFERS_MB: '256MB' }, 'EMBEDDED_SHARED_BUFFERS_MB'],
    [{ EMBEDDED_SHARED_BUFFERS_MB: '8' }, 'EMBEDDED_SHARED_BUFFERS_MB'],
    [{ EMBEDDED_SHARED_BUFFERS_MB: String(1_048_577) }, 'EMBEDDED_SHARED_BUFFERS_MB'],
    [{ MESSAGE_LIFE_TRANSACTIONAL_HOURS: '0' }, 'MESSAGE_LIFE_TRANSACTIONAL_HOURS'],
    // RFC 5321 section 4.5.4.1: the engine gives up after four days in any case.
    [{ MESSAGE_LIFE_BULK_HOURS: '97' }, 'MESSAGE_LIFE_BULK_HOURS'],
    [{ BLOCK_LISTS: 'zen spamhaus' }, 'BLOCK_LISTS'],
    [{ DRAIN_SECONDS: '0' }, 'DRAIN_SECONDS'],
    [{ SHUTDOWN_DELAY_SECONDS: '-1' }, 'SHUTDOWN_DELAY_SECONDS'],
    [{ SHUTDOWN_DELAY_SECONDS: '3601' }, 'SHUTDOWN_DELAY_SECONDS'],
  ])('refuses %j, naming %s and not its value', (env: Record<string, string>, name) => {
    let message = '';
    try {
      load(env);
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigurationError);
      message = (error as Error).message;
    }
    expect(message).toContain(name);
    expect(message).not.toContain('secret');
    if (name === 'MASTER_KEY') expect(message).not.toContain('short\n');
  });

  it('stops without a delay unless one is wanted', () => {
    expect(load({}).http.shutdownDelaySeconds).toBe(0);
    expect(load({ SHUTDOWN_DELAY_SECONDS: '0' }).http.shutdownDelaySeconds).toBe(0);
    expect(load({ SHUTDOWN_DELAY_SECONDS: '20' }).http.shutdownDelaySeconds).toBe(20);
  });

  it('believes forwarded addresses of no peer, of every peer, or of the proxies that are named', () => {
    const trusted = (TRUST_PROXY: string) => load({ TRUST_PROXY }).http.trustProxy;
    expect(load({}).http.trustProxy).toBe(false);
    expect([trusted(''), trusted('true'), trusted('1')]).toEqual([false, true, 1]);
    expect(trusted(' 10.0.0.0/8, 192.0.2.7 ')).toEqual(['10.0.0.0/8', '192.0.2.7']);
    expect(() => trusted('10.0.0.1,proxy.internal')).toThrow(/TRUST_PROXY must be .*, not proxy\.internal$/);
    expect(() => trusted(',')).toThrow('TRUST_PROXY');
  });

  it.each(['0.0.0.0', '::', '::1', 'localhost', 'host-1.example.com'])('listens on %s', (host) => {
    expect(load({ HOST: host }).http.host).toBe(host);
  });

  it('takes resolvers by address, with a port or without', () => {
    const servers = ['192.0.2.53', '192.0.2.53:5353', '2001:db8::53', '[2001:db8::53]:5353'];
    const { dnsServers } = load({ DNS_SERVERS: servers.join(', ') }).delivery;
    expect(dnsServers).toEqual(servers);
    expect(() => new Resolver().setServers(dnsServers)).not.toThrow();
  });

  it('names the data directory that cannot be used, and the remedy', () => {
    const file = join(dataDir, 'a-file');
    writeFileSync(file, '');
    for (const folder of [file, join(file, 'below')]) {
      expect(() => loadConfig({ WAYBILL_DATA_DIR: folder })).toThrow(
        new RegExp(`WAYBILL_DATA_DIR: ${folder} cannot be used, since .* file .*: make it writable`),
      );
    }
  });

  it('says what is wrong with a variable in one sentence', () => {
    expect(problemsOf({ DRAIN_SECONDS: 'soon', TLS_MODE: 'maybe' }).toSorted()).toEqual([
      'DRAIN_SECONDS must be an integer number, must not be less than 1, must not be greater than 3600',
      expect.stringMatching(/^TLS_MODE must be one of /),
    ]);
    expect(problemsOf({ DRAIN_SECONDS: '0' })).toEqual(['DRAIN_SECONDS must not be less than 1']);
    expect(problemsOf({ TLS_REPORT_ORGANIZATION: 'two\nlines', TLS_REPORT_CONTACT: 'tls@example.com' })).toEqual([
      'TLS_REPORT_ORGANIZATION must be one line of at most 200 characters',
    ]);
  });

  it.each<Record<string, string>>([
    { MAIL_HOST: 'mail host' },
    { PUBLIC_URL: 'https://' },
    { TLS_REPORT_CONTACT: 'nobody' },
    { EMBEDDED_SHARED_BUFFERS_MB: '1048577' },
    { DATABASE_URL: 'mysql://x', MASTER_KEY: '' },
    { MASTER_KEY: 'short', DATABASE_URL: 'postgres://h/db' },
  ])('says one sentence of a mistake, not of its consequences: %j', (env) => {
    expect(problemsOf(env)).toHaveLength(1);
  });

  it.each([
    ['smtp://relay.example.com', { host: 'relay.example.com', port: 587, implicitTls: false }],
    ['smtp://Relay.Example.COM', { host: 'relay.example.com', port: 587, implicitTls: false }],
    ['smtps://relay.example.com', { host: 'relay.example.com', port: 465, implicitTls: true }],
    ['smtp://127.0.0.1:2525', { host: '127.0.0.1', port: 2525, implicitTls: false }],
    ['smtp://[::1]:2525', { host: '::1', port: 2525, implicitTls: false }],
    [
      'smtp://us%40er:p%3Aw@h:25',
      { host: 'h', port: 25, implicitTls: false, auth: { user: 'us@er', password: 'p:w' } },
    ],
  ])('reads the relay %s', (url, relay) => {
    expect(parseRelay(url)).toEqual(relay);
  });
});

describe('loadEnvFile', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(path.join(os.tmpdir(), 'waybill-env-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('does without a file', () => {
    expect(() => loadEnvFile(path.join(folder, '.env'))).not.toThrow();
  });

  it('does not mind a folder of that name', () => {
    mkdirSync(path.join(folder, '.env'));
    expect(() => loadEnvFile(path.join(folder, '.env'))).not.toThrow();
  });

  it.each([
    ['a byte order mark', '\uFEFFFIRST_OF_TEST=1\nSECOND_OF_TEST="2 # 2" # two'],
    ['lines of Windows', 'FIRST_OF_TEST=1\r\nexport SECOND_OF_TEST="2 # 2"\r\n'],
  ])('reads %s, and leaves alone what is set', (_, text) => {
    process.env.SET_BEFORE = 'kept';
    writeFileSync(path.join(folder, '.env'), `${text}\nSET_BEFORE=lost`);
    loadEnvFile(path.join(folder, '.env'));
    expect(process.env).toMatchObject({ FIRST_OF_TEST: '1', SECOND_OF_TEST: '2 # 2', SET_BEFORE: 'kept' });
  });

  it('refuses a file in another encoding, all of whose lines would be lost', () => {
    writeFileSync(path.join(folder, '.env'), '\uFEFFPORT=1', 'utf16le');
    expect(() => loadEnvFile(path.join(folder, '.env'))).toThrow(/\.env cannot be read: it is not UTF-8/);
  });
});
