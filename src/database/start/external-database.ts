import { ConfigurationError } from '../../config/load-config';
import { COMMAND_CONNECT_TIMEOUT_MS } from '../pool/data-source';
import { IDENTITY } from '../pool/replica-lag';
import { databaseErrorCode, unlessDenied } from '../statements/database-errors';
import { DriverClient } from '../statements/driver-client';

/** What failed at DATABASE_DIRECT_URL; any other failure is one at DATABASE_URL. */
export class AtDirectUrl extends Error {
  constructor(
    readonly url: string,
    override readonly cause: unknown,
  ) {
    super('at DATABASE_DIRECT_URL', { cause });
  }
}

/** Marks the failure of what is done there, so that the operator reads the right name. @throws AtDirectUrl */
export function atDirectUrl<T>(url: string, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw new AtDirectUrl(url, error);
  });
}

/** The second one stores whatever it is given. */
const ENCODINGS = ['UTF8', 'SQL_ASCII'];

/**
 * What DATABASE_URL, and DATABASE_DIRECT_URL where it is set, lead to.
 *
 * @param describe host, port and name of a URL @param warn of a pooler without a way past it
 * @throws AtDirectUrl where the failure is there, ConfigurationError for a database whose dates the driver does not read, one that cannot hold all characters, a pooler that
 *   loses prepared statements, or two databases that are not the same
 */
export async function assertUsable(
  { url, directUrl }: { readonly url: string; readonly directUrl?: string | undefined },
  describe: (url: string) => string,
  warn: (message: string) => void,
): Promise<void> {
  const { style, encoding, identity } = await inspect(url);
  const pooling = await findPooling(url);
  const fault = styleFault(style) ?? encodingFault(encoding) ?? (pooling === 'forgetful' ? FORGETS : undefined);
  if (fault !== undefined) throw new ConfigurationError([`DATABASE_URL: the database ${describe(url)} ${fault}`]);
  if (directUrl === undefined || directUrl === url) {
    if (pooling === 'shared') warn(`DATABASE_URL: the database ${describe(url)} ${SHARED}`);
    return;
  }
  // Another one would be migrated, and have the leases without which no mail is sent here.
  if (identity === undefined || (await atDirectUrl(directUrl, inspect(directUrl))).identity === identity) return;
  throw new ConfigurationError([
    `DATABASE_DIRECT_URL: the database ${describe(directUrl)} is not the one of DATABASE_URL ${describe(url)}: name the same`,
  ]);
}

/** `DriverClient` asks for ISO; a pooler may not pass that on. The driver reads others as nothing: every answer with a time would be a failure. */
function styleFault(style: string): string | undefined {
  if (style.startsWith('ISO')) return undefined;
  const remedy = `run \`alter database … set datestyle = 'ISO'\`, or the same for the role that has it, and start again`;
  return `writes dates in the style "${style}": ${remedy}`;
}

function encodingFault(encoding: string): string | undefined {
  if (ENCODINGS.includes(encoding)) return undefined;
  return `has the encoding ${encoding}, which lacks characters of mail: use one made with \`encoding 'UTF8' template template0\``;
}

const FORGETS =
  'is behind a pooler that loses prepared statements: PgBouncer 1.21 or later with max_prepared_statements = 1000 keeps them (docs/scaling.md#a-pooler)';
const SHARED =
  'is behind a pooler that shares its sessions: set DATABASE_DIRECT_URL to Postgres itself, or locks may stay behind, and mail waits for the next poll (docs/scaling.md#a-pooler)';

interface Inspected {
  readonly style: string;
  readonly encoding: string;
  readonly identity: string | undefined;
}

async function inspect(url: string): Promise<Inspected> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<Pick<Inspected, 'style' | 'encoding'>>(
      `select current_setting('datestyle') as style, current_setting('server_encoding') as encoding`,
    );
    const [{ style = '', encoding = '' } = {}] = rows;
    const known = await unlessDenied(client.query<{ identity: string }>(IDENTITY));
    return { style, encoding, identity: known?.rows[0]?.identity };
  } finally {
    await client.leave();
  }
}

/** invalid_sql_statement_name, duplicate_prepared_statement */
const LOST_STATEMENT = ['26000', '42P05'];
const SESSION = 'select pg_backend_pid() as pid';

/**
 * Whether a pooler in transaction mode gives the sessions of one client to another, and whether prepared statements follow. Health
 * checks prepare none: without this, a process would be ready, and nearly all of its statements would fail.
 */
async function findPooling(url: string): Promise<'none' | 'shared' | 'forgetful'> {
  const one = await connect(url);
  const clients = [one];
  try {
    const other = await connect(url);
    clients.push(other);
    const sessionOf = async (client: DriverClient, name: string) =>
      (await client.query<{ pid: number }>({ name, text: SESSION })).rows[0]?.pid;
    // A pooler that gives the same session again shows by the name that both have; one that gives another each time by the last one.
    const first = await sessionOf(one, 'waybill-start');
    const second = await sessionOf(other, 'waybill-start');
    const further = [await sessionOf(other, 'waybill-start-2'), await sessionOf(other, 'waybill-start-2')];
    return first !== second && further.every((pid) => pid === second) ? 'none' : 'shared';
  } catch (error) {
    if (LOST_STATEMENT.includes(databaseErrorCode(error) ?? '')) return 'forgetful';
    throw error;
  } finally {
    await Promise.all(clients.map((client) => client.leave()));
  }
}

async function connect(url: string): Promise<DriverClient> {
  const client = new DriverClient({
    connectionString: url,
    application_name: 'waybill-start',
    connectionTimeoutMillis: COMMAND_CONNECT_TIMEOUT_MS,
    query_timeout: COMMAND_CONNECT_TIMEOUT_MS,
  });
  // A connection that breaks fails the statement that is under way.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
