import { writeFileSync } from 'node:fs';
import { masterKeyId } from '../../common/encryption/encryption';
import type { AppConfig } from '../../config/config';
import { readMasterKeyFrom, StoredMasterKey } from '../../config/master-key';
import { MasterKeyRecord } from '../../database/installation/installation.repository';
import { EncryptedDkimKeysService } from '../../modules/domains/dkim/encrypted-dkim-keys.service';
import type { CliSession, Services } from '../session/cli-session';
import { encryptedKinds } from '../session/encrypted-kinds';
import { CliError } from '../session/output';

/** The master key that a backup's secrets are encrypted under. */
export interface RestoredKey {
  /** From the backup; undefined: the one of this installation has to be it. */
  readonly key: Buffer | undefined;
  /** The id of the backup's key. */
  readonly wanted: number;
  /** Where the operator wants it. */
  readonly out: string | undefined;
}

/**
 * Before a backup: it names the master key that its secrets are encrypted under, and with `isIncluded` holds that one only.
 * @throws CliError when that would be another one, so that the restored service could not read its secrets
 */
export async function assertKeyOfBackup(
  services: Services,
  { masterKey }: AppConfig,
  isIncluded: boolean,
): Promise<void> {
  const { tried, known } = await services.get(EncryptedDkimKeysService).sample();
  const record = services.get(MasterKeyRecord);
  if ((tried > 0 && known === 0) || !(await record.isKnown())) {
    throw new CliError(
      'invalid_configuration',
      'MASTER_KEY is not the key of this database: its secrets are encrypted under another',
    );
  }
  if (!isIncluded) return;
  let others = (await record.isCurrent()) ? 0 : 1;
  for (const { records } of encryptedKinds(services, masterKey)) {
    for await (const row of records.rows()) others += records.isCurrent(row) ? 0 : 1;
  }
  if (others === 0) return;
  const message =
    'The backup would hold MASTER_KEY only, and not everything is encrypted under it yet: run `waybill keys re-encrypt` first';
  throw new CliError('invalid_configuration', message);
}

/** The way of a restored key: the present one is replaced only when the database has been, as either is useless without the other. */
export interface KeyTransfer {
  /** Before the first change: the key is safe. */
  stage(): void;
  /** After the commit. */
  install(): void;
  /** After a failure. */
  discard(): void;
}

const NO_TRANSFER: KeyTransfer = { stage: () => undefined, install: () => undefined, discard: () => undefined };

/**
 * Decides where the key goes, before anything is changed.
 * @throws CliError when the restored service could not read its secrets
 */
export function transferMasterKey(
  session: CliSession,
  config: AppConfig,
  { key, wanted, out }: RestoredKey,
): KeyTransfer {
  if (key === undefined) {
    assertKnown(config, wanted);
    return NO_TRANSFER;
  }
  const isStoredHere = config.database.url === undefined && !session.isSet('MASTER_KEY');
  const stored = isStoredHere ? new StoredMasterKey(config.dataDir) : undefined;
  if (out === undefined && !stored && !session.config().masterKey.equals(key)) {
    const message = 'MASTER_KEY is not the key of the backup: --master-key-out <file> writes that one for you to set';
    throw new CliError('invalid_configuration', message);
  }
  return {
    stage: () => {
      if (out !== undefined) writeKey(out, key);
      stored?.stage(key);
    },
    install: () => stored?.install(key),
    discard: () => stored?.unstage(),
  };
}

function assertKnown({ masterKey, previousMasterKey }: AppConfig, wanted: number): void {
  const known = [masterKey, ...(previousMasterKey ? [previousMasterKey] : [])].map(masterKeyId);
  if (known.includes(wanted)) return;
  const message =
    'The secrets of the backup are encrypted under another master key: set MASTER_KEY to it (embedded: copy master.key ' +
    'into the data directory), or restore with --with-master-key a backup that was made so';
  throw new CliError('invalid_configuration', message);
}

function writeKey(file: string, key: Buffer): void {
  try {
    writeFileSync(file, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    // The same command again, after a failure.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && holdsKey(file, key)) return;
    throw new CliError('invalid_request', `--master-key-out: ${(error as Error).message}`);
  }
}

function holdsKey(file: string, key: Buffer): boolean {
  try {
    return readMasterKeyFrom(file).equals(key);
  } catch {
    return false;
  }
}
