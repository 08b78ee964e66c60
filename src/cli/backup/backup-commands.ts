import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { unlessAborted } from '../../common/async/promises';
import { describeFullDisk } from '../../common/disk-space';
import { masterKeyId } from '../../common/encryption/encryption';
import { decryptWithPassphrase, encryptWithPassphrase } from '../../common/encryption/passphrase';
import type { AppConfig } from '../../config/config';
import { BackupFileError, writeBackupFile } from '../../database/backup/backup-file';
import { assertFolderOf } from '../../database/backup/backup-folder';
import { type BackupHeader, readBackupHeader, verifyBackup } from '../../database/backup/backup-format';
import { describeBytes, dumpDatabase } from '../../database/backup/dump-database';
import { restoreDatabase } from '../../database/backup/restore-database';
import { openDatabase } from '../../database/start/open-database';
import { readSchemaState } from '../../database/schema/schema-state';
import { recordLastBackup } from '../doctor/last-backup';
import { CliError, fields } from '../session/output';
import type { CliSession } from '../session/cli-session';
import { createServices } from '../session/services';
import { assertKeyOfBackup, type RestoredKey, transferMasterKey } from './master-key-transfer';

interface KeyOptions {
  readonly withMasterKey?: true;
  readonly passphraseFile?: string;
}

interface RestoreOptions extends KeyOptions {
  readonly force?: true;
  readonly masterKeyOut?: string;
}

const KEY_CONTEXT = 'waybill/backup/master-key';
const MIN_PASSPHRASE = 12;

/** `waybill backup` */
export function addBackupCommand(command: Command, session: CliSession): void {
  command
    .argument('<file>', 'must not exist yet')
    .option('--with-master-key', 'include the master key, encrypted under a pass phrase')
    .option('--passphrase-file <file>', 'its first line is the pass phrase')
    .action((file: string, options: KeyOptions) => asCliErrors(() => backUp(session, file, options)));
}

/** `waybill restore` */
export function addRestoreCommand(command: Command, session: CliSession): void {
  command
    .argument('<file>')
    .option('--force', 'also when the database holds data, all of which is replaced')
    .option('--with-master-key', 'take the master key from the backup')
    .option('--passphrase-file <file>', 'its first line is the pass phrase')
    .option('--master-key-out <file>', 'write the master key there, for MASTER_KEY of the processes')
    .action((file: string, options: RestoreOptions) => asCliErrors(() => restore(session, file, options)));
}

/** A bad file is the operator's to replace, and no fault of ours. */
async function asCliErrors(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isUsersFile = ['ENOENT', 'EACCES', 'EISDIR', 'ENOTDIR'].includes(String((error as { code?: unknown }).code));
    if (!isUsersFile && !(error instanceof BackupFileError)) throw error;
    throw new CliError('invalid_request', (error as Error).message);
  }
}

async function backUp(session: CliSession, file: string, options: KeyOptions): Promise<void> {
  const { output } = session;
  await assertFolderOf(file);
  const config = session.config();
  const note = (message: string): void => output.note(message);
  const passphrase = await readPassphrase(options);
  const masterKey = passphrase && (await encryptWithPassphrase(config.masterKey, passphrase, KEY_CONTEXT));
  const secrets = { masterKeyId: masterKeyId(config.masterKey), ...(masterKey && { masterKey }) };
  // As it is: a backup before an upgrade is one of the schema before it.
  const database = await session.open(config, { migrate: false, create: false, log: note, waitSeconds: 0 });
  try {
    await checkMasterKey(config, database.url, masterKey !== undefined);
    const parts = dumpDatabase(database.directUrl, { secrets, note });
    const check = (partial: string) => {
      note('reading it again');
      return verifyBackup(partial);
    };
    const { bytes, checked } = await writeBackupFile(file, parts, check, session.interrupted);
    const { header, rows } = checked;
    await recordLastBackup(config.dataDir, file, new Date(header.createdAt));
    const { createdAt, tables } = header;
    const report = { file, createdAt, tables: tables.length, rows, bytes, withMasterKey: masterKey !== undefined };
    output.result({ json: report, text: fields({ ...report, bytes: describeBytes(bytes) }) });
  } finally {
    await database.stop();
  }
}

/** Of a schema that this release's services can read. @throws CliError, also where a backup would have nothing in it */
async function checkMasterKey(config: AppConfig, url: string, isIncluded: boolean): Promise<void> {
  const { state, isUsable, sentence } = await readSchemaState(url);
  if (state === 'empty' || state === 'elsewhere') {
    throw new CliError('unhealthy', `Nothing can be backed up: ${sentence}`);
  }
  if (!isUsable) return;
  const services = await createServices(config, url);
  try {
    await assertKeyOfBackup(services, config, isIncluded);
  } finally {
    await services.close();
  }
}

async function restore(session: CliSession, file: string, options: RestoreOptions): Promise<void> {
  const { output } = session;
  const note = (message: string): void => output.note(message);
  const key = await takeMasterKey(await readBackupHeader(file), options);
  // The configuration is not valid without one, and the backup's is the one from now on.
  const config = session.config(key && { MASTER_KEY: key.toString('base64') }, true);
  note(`reading ${file}`);
  const backup = await unlessAborted(verifyBackup(file), session.interrupted);
  const restored: RestoredKey = { key, wanted: backup.header.masterKeyId, out: options.masterKeyOut };
  const transfer = transferMasterKey(session, config, restored);
  const database = await session.open(config, { migrate: false, log: note, waitSeconds: 0 });
  let isCommitted = false;
  try {
    const { force = false } = options;
    const ownKeepers = database.embedded ? 1 : 0;
    const beforeChanges = (): void => transfer.stage();
    const afterCommit = (): void => {
      isCommitted = true;
      transfer.install();
    };
    const hooks = { beforeChanges, afterCommit, note, signal: session.interrupted };
    await restoreDatabase(database.directUrl, file, backup, { force, ownKeepers, ...hooks });
  } catch (error) {
    if (!isCommitted) transfer.discard();
    const full = database.embedded ? await describeFullDisk(config.dataDir) : undefined;
    if (full) note(full);
    // The first error is the cause.
    await database.stop().catch((second: Error) => note(second.message));
    throw error;
  }
  await database.stop();
  const applied = await bringUpToDate(config, note);
  const { createdAt, release } = backup.header;
  const report = { file, createdAt, release, tables: backup.tables.size, rows: backup.rows, applied };
  output.result({ json: report, text: fields(report) });
}

/** What has been added since the release that wrote the backup; not interrupted, since the database has been replaced. */
async function bringUpToDate(config: AppConfig, log: (message: string) => void): Promise<readonly string[]> {
  const database = await openDatabase(config, { migrate: true, log, waitSeconds: 0 });
  await database.stop();
  return database.applied;
}

async function takeMasterKey({ masterKey }: BackupHeader, options: RestoreOptions): Promise<Buffer | undefined> {
  const passphrase = await readPassphrase(options);
  if (passphrase === undefined) return undefined;
  if (!masterKey) throw new CliError('invalid_request', 'The backup was made without --with-master-key');
  return decryptWithPassphrase(masterKey, passphrase, KEY_CONTEXT).catch((error: Error) => {
    throw new CliError('invalid_request', error.message);
  });
}

async function readPassphrase({ withMasterKey, passphraseFile }: KeyOptions): Promise<string | undefined> {
  if (withMasterKey === undefined && passphraseFile === undefined) return undefined;
  if (withMasterKey === undefined || passphraseFile === undefined) {
    throw new CliError('invalid_request', '--with-master-key and --passphrase-file belong together');
  }
  const text = await readFile(passphraseFile, 'utf8').catch((error: Error) => {
    throw new CliError('invalid_request', `--passphrase-file cannot be read: ${error.message}`);
  });
  const [line = ''] = text.split(/\r?\n/, 1);
  if (line.length >= MIN_PASSPHRASE) return line;
  throw new CliError('invalid_request', `The pass phrase must have at least ${MIN_PASSPHRASE} characters`);
}
