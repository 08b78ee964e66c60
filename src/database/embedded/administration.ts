import { Client, type ClientConfig } from 'pg';
import { isDataOf } from './cluster-location';
import { createServer } from 'node:net';
import { OperatorError } from '../../common/errors/app-error';

/** Names as in postgresql.conf, values as text. */
export type ServerSettings = Record<string, string>;

/** For a small service on a machine of its own: durable, modest in memory and disk, and quiet about people's addresses. */
const DEFAULTS: ServerSettings = {
  synchronous_commit: 'on',
  // The rest is cached by the system. 64 and 256 MB accepted and delivered no faster, and count to the service's memory.
  shared_buffers: '32MB',
  max_wal_size: '1GB',
  wal_compression: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // The detail of a violated constraint quotes the row, which may hold an address.
  log_error_verbosity: 'terse',
};

/**
 * The text for `pg_ctl -o`: loopback only, no unix socket. A shell reads it, so values are limited to plain characters.
 *
 * @throws on a name or value that would need quoting.
 */
export function serverOptions(port: number, settings: ServerSettings): string {
  const all: ServerSettings = {
    ...DEFAULTS,
    ...settings,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port: String(port),
  };
  return Object.entries(all).map(serverOption).join(' ');
}

function serverOption([name, value]: [string, string]): string {
  if (!/^[a-z_.]+$/.test(name) || !/^[\w .,:/+-]*$/.test(value)) {
    throw new OperatorError(
      `The setting ${name}=${value} of the embedded Postgres has characters that cannot be passed on.`,
    );
  }
  return `-c "${name}=${value}"`;
}

/** A free port of the loopback interface: the preferred one if it still is free, else any. */
export async function findFreePort(preferred: number | undefined): Promise<number> {
  const port = (preferred === undefined ? undefined : await listenOnce(preferred)) ?? (await listenOnce(0));
  if (port === undefined) throw new OperatorError('The embedded Postgres found no free port on 127.0.0.1.');
  return port;
}

/** The port that could be listened on, or undefined when it is taken. */
function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}

/** The role and the database of the service. The role owns the database but is no superuser: as with a hosted Postgres. */
const SERVICE_NAME = 'waybill';
/** The role of requests (docs/adr/0023), which the service's role may take but could not create. */
const TENANT_ROLE = `${SERVICE_NAME}_tenant`;

const HOST = '127.0.0.1';
/** Distinguishes these connections from those that use the database. */
const APPLICATION_NAME = 'waybill-embedded-administration';
const CONNECT_TIMEOUT_MS = 5_000;
/** duplicate_database, duplicate_object, unique_violation: another process was faster. */
const ALREADY_THERE = ['42P04', '42710', '23505'];

/** Where the server listens, with the password of its roles. */
export interface ServerAddress {
  port: number;
  password: string;
}

/** The connection string of the service: not a superuser, its own database. */
export function serviceUrl({ port, password }: ServerAddress): string {
  return `postgres://${SERVICE_NAME}:${encodeURIComponent(password)}@${HOST}:${port}/${SERVICE_NAME}`;
}

/** Runs `work` on a superuser's connection. */
async function withClient<T>(address: ServerAddress, work: (client: Client) => Promise<T>): Promise<T> {
  const config: ClientConfig = {
    host: HOST,
    ...address,
    user: 'postgres',
    database: 'postgres',
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  };
  const client = new Client(config);
  // An idle connection that breaks must not end the process; the statement that needs it says so itself.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Makes sure that the server is the one of this data folder (a port may have gone to another server since) and that the
 * role and the database of the service exist.
 *
 * @param pid of the server that should be the one
 * @throws when the server does not reply, refuses the password or has other data.
 */
export async function prepareServer(address: ServerAddress, dataFolder: string, pid: number): Promise<void> {
  await withClient(address, async (client) => {
    const { rows } = await client.query<{ folder: string; prepared: boolean }>(
      `SELECT current_setting('data_directory') AS folder,
              EXISTS (SELECT FROM pg_database WHERE datname = $1)
                AND EXISTS (SELECT FROM pg_roles WHERE rolname = $2) AS prepared`,
      [SERVICE_NAME, TENANT_ROLE],
    );
    const folder = rows[0]?.folder ?? '';
    if (!(await isDataOf(pid, folder, dataFolder))) {
      throw new Error(`the server on port ${address.port} serves ${folder}`);
    }
    if (!rows[0]?.prepared) await createServiceDatabase(client, address.password);
  });
}

async function createServiceDatabase(client: Client, password: string): Promise<void> {
  const statements = [
    `CREATE ROLE ${SERVICE_NAME} LOGIN CREATEDB PASSWORD ${client.escapeLiteral(password)}`,
    `CREATE ROLE ${TENANT_ROLE} NOLOGIN ROLE ${SERVICE_NAME}`,
    `CREATE DATABASE ${SERVICE_NAME} OWNER ${SERVICE_NAME}`,
  ];
  for (const statement of statements) {
    await client.query(statement).catch((error: { code?: string }) => {
      if (!ALREADY_THERE.includes(error.code ?? '')) throw error as Error;
    });
  }
}

/** How many connections use the server, those of this file not counted. */
export function countConnections(address: ServerAddress): Promise<number> {
  return withClient(address, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
       WHERE backend_type = 'client backend' AND application_name <> $1`,
      [APPLICATION_NAME],
    );
    return rows[0]?.count ?? 0;
  });
}

/** The settings that a running server has otherwise, with its values. The server writes 1024MB as 1GB. */
export function differingSettings(address: ServerAddress, wanted: ServerSettings): Promise<[string, string][]> {
  const names = Object.keys(wanted);
  if (names.length === 0) return Promise.resolve([]);
  return withClient(address, async (client) => {
    const { rows } = await client.query<{ name: string; value: string }>(
      `SELECT name, current_setting(name, true) AS value FROM unnest($1::text[], $2::text[]) AS wanted (name, value)
       WHERE CASE WHEN wanted.value ~ '^\\d+MB$' THEN pg_size_bytes(current_setting(name, true)) <> pg_size_bytes(wanted.value)
         ELSE current_setting(name, true) <> wanted.value END`,
      [names, Object.values(wanted)],
    );
    return rows.map(({ name, value }) => [name, value]);
  });
}
