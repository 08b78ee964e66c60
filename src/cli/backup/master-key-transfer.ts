import { writeFileSync } from 'node:fs';
import { deriveEncryptionKey } from '../../common/encryption/encryption';
import type { AppConfig } from '../../config/config';
import { StoredMasterKey } from '../../config/data-dir';
import { CliError } from '../session/output';
import type { CliSession } from '../session/cli-session';

/** The master key that a backup's secrets are encrypted under. */
export interface RestoredKey {
  /** From the backup; undefined: the one of this installation has to be it. */
  readonly key: Buffer | undefined;
  /** The id of the backup's key. */
  readonly wanted: number;
  /** Where the operator wants it. */
  readonly out: string | undefined;
}

/** Distinguishes master keys, and reveals nothing of them. */
export function masterKeyId(masterKey: Buffer): number {
  return deriveEncryptionKey(masterKey, 'backup').id;
}

/**
 * Decides where the key goes, before anything is changed; the returned function puts it there.
 * @throws CliError when the restored service could not read its secrets
 */
export function keepMasterKey(session: CliSession, config: AppConfig, { key, wanted, out }: RestoredKey): () => void {
  if (key === undefined) {
    assertKnown(config, wanted);
    return () => undefined;
  }
  const keeps: (() => void)[] = [];
  if (out !== undefined) keeps.push(() => writeKey(out, key));
  const isStoredHere = config.database.url === undefined && !session.isSet('MASTER_KEY');
  if (isStoredHere) keeps.push(() => new StoredMasterKey(config.dataDir).install(key));
  if (keeps.length === 0 && !session.config().masterKey.equals(key)) {
    const message = 'MASTER_KEY is not the key of the backup: --master-key-out <file> writes that one for you to set';
    throw new CliError('invalid_configuration', message);
  }
  return () => keeps.forEach((keep) => keep());
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
    throw new CliError('invalid_request', `--master-key-out: ${(error as Error).message}`);
  }
}
