import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { keepPrivate, noDatabaseIn } from './data-dir';

const KEY_BYTES = 32;
const OWNER_ONLY = 0o600;
/** Folder of the embedded database in a data directory; named by the major version of Postgres. */
const CLUSTER = /^pg\d+$/;

/** 32 bytes in base64, either alphabet. */
export const MASTER_KEY_TEXT = /^[A-Za-z0-9+/_-]{43}=?$/;

/**
 * Embedded mode: the master key is stored beside the data it protects, readable by its owner only, and is generated at the first
 * start. Without it the DKIM keys cannot be decrypted.
 */
export class StoredMasterKey {
  private readonly file: string;
  /** The key before the last change. */
  private readonly previousFile: string;
  /** The key of a backup that is being restored. */
  private readonly restoredFile: string;

  constructor(private readonly dataDir: string) {
    this.file = join(dataDir, 'master.key');
    this.previousFile = join(dataDir, 'master.key.previous');
    this.restoredFile = join(dataDir, 'master.key.restored');
  }

  /**
   * @param create makes the key where there is none
   * @throws Error when there is a database without its key: a new key could decrypt nothing and would hide the loss of the old one
   */
  readOrCreate(create = true): Buffer {
    // Checked first: of two processes that start at once, one may create key and database between this check and the read.
    const hasDatabase = existsSync(this.dataDir) && readdirSync(this.dataDir).some((name) => CLUSTER.test(name));
    if (hasDatabase) this.assertKept();
    else if (!existsSync(this.file)) this.create(create);
    else if (isEmpty(this.file)) throw new Error(emptyKey(this.file));
    keepPrivate(this.file);
    return readMasterKey(this.file);
  }

  readPrevious(): Buffer | undefined {
    if (!existsSync(this.previousFile)) return undefined;
    keepPrivate(this.previousFile);
    return readMasterKey(this.previousFile);
  }

  /** Whether the key in use is the stored one rather than one from the environment. */
  holds(key: Buffer): boolean {
    return existsSync(this.file) && readMasterKey(this.file).equals(key);
  }

  /** Puts the key of a backup beside the present one, which stays in use until the backup's data is there. */
  stage(key: Buffer): void {
    mkdirSync(this.dataDir, { recursive: true, mode: 0o700 });
    this.write(this.restoredFile, key);
  }

  /** Installs the key of a restored backup; a key that is there becomes the previous one. */
  install(key: Buffer): void {
    if (existsSync(this.file)) this.replace(key);
    else this.write(this.file, key);
    this.unstage();
  }

  /** The backup was not restored. */
  unstage(): void {
    rmSync(this.restoredFile, { force: true });
  }

  /** Keeps the old key in a second file first, so that a crash in between loses no key. */
  replace(key: Buffer): void {
    const current = this.readOrCreate();
    if (current.equals(key)) return;
    this.write(this.previousFile, current);
    this.write(this.file, key);
  }

  /** Beside a database. @throws Error when the key is gone */
  private assertKept(): void {
    // A restore into an empty directory ended before it could name its key.
    if (!existsSync(this.file) && existsSync(this.restoredFile)) renameSync(this.restoredFile, this.file);
    if (!existsSync(this.file) || isEmpty(this.file)) throw new Error(missingKey(this.file));
  }

  /** The first key. Of several processes that make one at once, the key of the first is used. @throws Error unless it may be made */
  private create(isWanted: boolean): void {
    if (!isWanted) throw new Error(noDatabaseIn(this.dataDir));
    mkdirSync(this.dataDir, { recursive: true, mode: 0o700 });
    const own = `${this.file}.${process.pid}.new`;
    try {
      writeFileSync(own, textOf(randomBytes(KEY_BYTES)), { mode: OWNER_ONLY, flush: true });
      try {
        linkSync(own, this.file);
      } catch {
        // Another process was faster, or the file system has no links.
        if (!existsSync(this.file)) renameSync(own, this.file);
      }
    } finally {
      rmSync(own, { force: true });
    }
    syncFolder(this.dataDir);
  }

  /** Writes the file completely or not at all. */
  private write(file: string, key: Buffer): void {
    writeFileSync(`${file}.new`, textOf(key), { mode: OWNER_ONLY, flush: true });
    renameSync(`${file}.new`, file);
    syncFolder(this.dataDir);
  }
}

function isEmpty(file: string): boolean {
  return statSync(file).size === 0;
}

/**
 * Reads a key that an operator passes: a file, or `env:NAME`.
 * @throws Error when there is none; the message never shows what was found
 */
export function readMasterKeyFrom(source: string, env: NodeJS.ProcessEnv = process.env): Buffer {
  const [, name] = /^env:(\w+)$/.exec(source) ?? [];
  return name === undefined ? readMasterKey(source) : parseMasterKey(env[name] ?? '', name);
}

function readMasterKey(file: string): Buffer {
  return parseMasterKey(readFileSync(file, 'utf8'), file);
}

function parseMasterKey(text: string, source: string): Buffer {
  if (!MASTER_KEY_TEXT.test(text.trim())) throw new Error(`${source} must hold ${KEY_BYTES} bytes in base64`);
  return Buffer.from(text, 'base64');
}

/** Left by a full disk. It is not replaced here: of two processes that did so, one would go on with a key that is lost. */
function emptyKey(file: string): string {
  return `${file} is empty: delete it, since nothing is encrypted under it yet`;
}

function missingKey(file: string): string {
  const remedy =
    'restore it from a copy of the directory, set MASTER_KEY to it, or restore a backup --with-master-key into an empty directory';
  return `${file} is missing or empty, and the database beside it is encrypted under it: ${remedy}`;
}

/** New names survive a loss of power (fsync(2)). Not every system can do that to a folder. */
function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, 'r');
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {
    // The content has been written and flushed.
  }
}

function textOf(key: Buffer): string {
  return `${key.toString('base64')}\n`;
}
