import type { ClientConfig } from 'pg';
import { Client } from 'pg';
import { isDataOf } from './cluster-location';
import type { ServerSettings } from './server-settings';

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
 * @param pid of the server that should be it
 * @throws when the server does not answer, refuses the password or has other data.
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
