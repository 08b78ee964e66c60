import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import { RELEASE } from '../../common/release';
import { LIFT_TIME_LIMITS } from '../pool/data-source';
import { readApplied } from '../schema/schema-state';
import type { BackupPart } from './backup-file';
import type { BackupHeader, BackupTable } from './backup-format';
import { columnList, identifier, listSequences, listTables } from './catalogue';

const CONNECT_TIMEOUT_MS = 5 * SECOND;
/** Rows come one by one; a part of the file holds many. */
const PART_BYTES = 64 * 1024;
const TOLD_EVERY_MS = 5 * SECOND;

/** The same text whatever the server's settings, and an error rather than a part of the rows where policies hide some. */
export const COPY_SETTINGS = `
  set local datestyle = 'ISO'; set local intervalstyle = 'postgres'; set local timezone = 'UTC';
  set local extra_float_digits = 1; set local bytea_output = 'hex'; set local row_security = off`;

export interface DumpOptions {
  /** What the header says of the master key. */
  readonly secrets: Pick<BackupHeader, 'masterKeyId' | 'masterKey'>;
  /** Receives the progress. */
  readonly note: (message: string) => void;
}

/** A connection for a long transaction; the caller ends it. */
export async function connectFor(purpose: 'backup' | 'restore', url: string): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: `waybill-${purpose}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  // The statement that needs it says so itself.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(LIFT_TIME_LIMITS);
  return client;
}

/** The database at `url` as of one moment, while the service runs on: what is committed later is not in it. */
export async function* dumpDatabase(url: string, { secrets, note }: DumpOptions): AsyncGenerator<BackupPart> {
  const client = await connectFor('backup', url);
  try {
    await client.query(`begin isolation level repeatable read, read only; ${COPY_SETTINGS}`);
    const header = await readHeader(client, secrets);
    if (header.migrations.length === 0) {
      throw new AppError('invalid_request', 'The database is empty: there is nothing to back up');
    }
    yield { type: 'json', value: header };
    let rows = 0;
    for (const [index, table] of header.tables.entries()) {
      rows += yield* dumpTable(client, table, (message) =>
        note(`${index + 1}/${header.tables.length} ${table.name}: ${message}`),
      );
    }
    yield { type: 'json', value: { kind: 'end', rows } };
    await client.query('commit');
  } finally {
    await client.end();
  }
}

async function readHeader(client: Client, secrets: DumpOptions['secrets']): Promise<BackupHeader> {
  // The time of the snapshot, by the database's clock: this host's may be wrong, and how long a backup is kept goes by it.
  const { rows } = await client.query<{ now: Date }>('select now()');
  const createdAt = (rows[0] as { now: Date }).now.toISOString();
  const migrations = await readApplied(client);
  const tables = await listTables(client);
  return {
    ...{ kind: 'header', createdAt, release: RELEASE, migrations, ...secrets, tables },
    // After the snapshot was taken: no number in it is greater.
    sequences: await listSequences(client),
  };
}

/** Returns its number of rows. */
async function* dumpTable(
  client: Client,
  table: BackupTable,
  note: (message: string) => void,
): AsyncGenerator<BackupPart, number> {
  const source = `select ${columnList(table)} from ${identifier(table.name)}`;
  const copy = client.query(copyTo(`copy (${source}) to stdout`));
  const hash = createHash('sha256');
  let bytes = 0;
  let toldAt = performance.now();
  for await (const part of inParts(copy)) {
    hash.update(part);
    bytes += part.length;
    yield { type: 'data', bytes: part };
    if (performance.now() - toldAt < TOLD_EVERY_MS) continue;
    toldAt = performance.now();
    note(`${describeBytes(bytes)} so far`);
  }
  const { name } = table;
  yield { type: 'json', value: { kind: 'table-end', name, rows: copy.rowCount, sha256: hash.digest('hex') } };
  if (copy.rowCount > 0) note(`${copy.rowCount} rows, ${describeBytes(bytes)}`);
  return copy.rowCount;
}

async function* inParts(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    waiting.push(chunk);
    length += chunk.length;
    if (length < PART_BYTES) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(waiting);
}

/** A number of bytes for people, in B, KiB or MiB. */
export function describeBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
