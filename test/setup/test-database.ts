import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { waitFor } from './wait-for';

/** The database with all migrations; a test database is a copy of it. */
export const TEMPLATE = 'waybill_template';
/** The database to connect to while others are created and dropped: the template must have no connections. */
export const ADMINISTRATION = 'waybill_test';

/** object_in_use: a client is connected to the template, or another copy is in progress. */
const TEMPLATE_BUSY = '55006';
/** insufficient_privilege: a worker of autovacuum, which is the superuser's, is in the database. It ends by itself. */
const VACUUMED = '42501';

export interface TestDatabase {
  url: string;
  /** Drops it, also while clients are connected. */
  drop(): Promise<void>;
}

/** A fresh database with the schema in place: one for each test file, or for each test that needs it. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const administrationUrl = process.env.WAYBILL_TEST_CLUSTER_URL;
  if (administrationUrl === undefined) {
    throw new Error('There is no test server: only the projects integration and e2e have one (jest.config.js).');
  }
  assertDisposable(administrationUrl);
  const name = `waybill_test_${process.pid}_${randomBytes(4).toString('hex')}`;
  await waitFor(() => withClient(administrationUrl, (client) => copyTemplate(client, name)), {
    what: `a copy of ${TEMPLATE}`,
  });
  return {
    url: withDatabase(administrationUrl, name),
    drop: async () => {
      const isGone = () => withClient(administrationUrl, (client) => dropDatabase(client, name));
      await waitFor(isGone, { what: `the end of ${name}` });
    },
  };
}

/** The same server, another database. */
export function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.toString();
}

/** @throws for a server that could hold real data: databases are created and dropped on it by force. */
export function assertDisposable(url: string): void {
  const name = new URL(url).pathname.slice(1);
  if (/test|template/.test(name)) return;
  throw new Error(`Tests do not touch the database "${name}": its name has neither "test" nor "template" in it.`);
}

async function dropDatabase(client: Client, name: string): Promise<boolean> {
  try {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === VACUUMED) return false;
    throw error;
  }
}

async function copyTemplate(client: Client, name: string): Promise<boolean> {
  try {
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} ${await copyStrategy(client)}`);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === TEMPLATE_BUSY) return false;
    throw error;
  }
}

/** Copying files is faster than the default since Postgres 15, which also writes every page into the log. */
async function copyStrategy(client: Client): Promise<string> {
  const { rows } = await client.query<{ version: number }>(
    `SELECT current_setting('server_version_num')::int AS version`,
  );
  return (rows[0]?.version ?? 0) >= 150_000 ? 'STRATEGY file_copy' : '';
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
