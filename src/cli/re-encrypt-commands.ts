import type { Command } from 'commander';
import { examine, reEncrypt } from '../common/encryption/re-encrypt';
import type { AppConfig } from '../config/config';
import { StoredMasterKey } from '../config/master-key';
import { Database } from '../database/pool/database.service';
import { MasterKeyRecord } from '../database/installation/installation.repository';
import { CliError, fields, type Report } from './session/output';
import type { CliSession, Services } from './session/cli-session';
import { type EncryptedKind, encryptedKinds } from './session/encrypted-kinds';

/** Connections of processes of the service; those of commands, and the ones that hold an embedded server, are others. */
const SERVICE_SESSION = /^waybill(?!-(?:cli|keeper)$)/;
/** An error names a few; `closed` is how many there are. */
const MAX_NAMED = 10;

const NOTHING_CHANGED =
  'nothing has been changed. After an interrupted change to another key, finish that one first, with the same command';

/** `waybill keys …` */
export function addReEncryptCommands(group: Command, session: CliSession): void {
  group
    .command('re-encrypt')
    .alias('rewrap')
    .description('encrypt them again under the current or a new master key; can be repeated at any time')
    .option('--new-key <source>', 'a file that holds 32 bytes in base64, or env:NAME; default: MASTER_KEY')
    .action(({ newKey }: { newKey?: string }) => {
      const config = session.config();
      const key = newKey === undefined ? config.masterKey : session.readMasterKey(newKey);
      return session.run((services) => encryptAgain(services, config, key));
    });
}

async function encryptAgain(services: Services, config: AppConfig, masterKey: Buffer): Promise<Report> {
  const totals = new Map<EncryptedKind, number>();
  for (const kind of encryptedKinds(services, masterKey)) totals.set(kind, await countReadable(kind));
  if (replacesStored(config, masterKey)) await assertStopped(services);
  // Before the first is encrypted again, so that at no time there is one whose master key no file holds.
  const fileReplaced = replaceStored(config, masterKey);
  const counts: [string, number][] = [];
  for (const [{ counted, written, records }, total] of totals) {
    counts.push([counted, total], [written, await reEncrypt(records)]);
  }
  // Until here a process that has only the new key is told that it lacks one.
  await services.get(MasterKeyRecord).replace(masterKey);
  const report = { ...Object.fromEntries(counts), fileReplaced };
  return { json: report, text: fields(report) };
}

/** @throws CliError when something would be lost */
async function countReadable({ what, counted, named, records }: EncryptedKind): Promise<number> {
  const { total, unreadable } = await examine(records);
  if (unreadable.length === 0) return total;
  const message = `${unreadable.length} of ${total} ${what} decrypt under neither master key; ${NOTHING_CHANGED}`;
  const details = { [counted]: total, unreadable: unreadable.length, [named]: unreadable.slice(0, MAX_NAMED) };
  throw new CliError('unhealthy', message, details);
}

/** Embedded mode: the key is in `master.key`. Elsewhere it is the operator's to set. */
function replacesStored({ database, dataDir, masterKey }: AppConfig, newKey: Buffer): boolean {
  return database.url === undefined && new StoredMasterKey(dataDir).holds(masterKey) && !newKey.equals(masterKey);
}

/** The present key goes into `master.key.previous`. */
function replaceStored(config: AppConfig, newKey: Buffer): boolean {
  if (!replacesStored(config, newKey)) return false;
  new StoredMasterKey(config.dataDir).replace(newKey);
  return true;
}

/**
 * A running service has read `master.key` at its start, so it could not decrypt anything under the new key.
 * @throws CliError invalid_request
 */
async function assertStopped(services: Services): Promise<void> {
  const connections = await services.get(Database).activity();
  const open = connections.filter(({ application }) => SERVICE_SESSION.test(application));
  if (open.length === 0) return;
  const message = `The service is running: ${open.length} sessions of it are open. Stop it, then change the master key`;
  throw new CliError('invalid_request', message);
}
