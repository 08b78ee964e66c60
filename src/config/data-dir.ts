import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

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

  /** @throws Error when there is a database without its key: a new key could decrypt nothing and would hide the loss of the old one */
  readOrCreate(): Buffer {
    // Checked first: of two processes that start at once, one may create key and database between this check and the read.
    const hasDatabase = existsSync(this.dataDir) && readdirSync(this.dataDir).some((name) => CLUSTER.test(name));
    // A restore into an empty directory ended before it could name its key.
    if (hasDatabase && !existsSync(this.file) && existsSync(this.restoredFile)) {
      renameSync(this.restoredFile, this.file);
    }
    if (!existsSync(this.file)) {
      if (hasDatabase) throw new Error(missingKey(this.file));
      mkdirSync(this.dataDir, { recursive: true, mode: 0o700 });
      try {
        writeFileSync(this.file, textOf(randomBytes(KEY_BYTES)), { mode: OWNER_ONLY, flag: 'wx' });
      } catch (error) {
        // Another process was faster: its key is used.
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
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

  /** Writes the file completely or not at all. */
  private write(file: string, key: Buffer): void {
    writeFileSync(`${file}.new`, textOf(key), { mode: OWNER_ONLY, flush: true });
    renameSync(`${file}.new`, file);
  }
}

/** Makes a file readable by its owner only: a copy or a restored backup may have left it open. A file of another user stays as it is. */
export function keepPrivate(file: string): void {
  try {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, OWNER_ONLY);
  } catch {
    // Not our file; if it cannot be read, the read reports that.
  }
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

function missingKey(file: string): string {
  const remedy =
    'restore it from a copy of the directory, set MASTER_KEY to it, or restore a backup --with-master-key into an empty directory';
  return `${file} is missing, and the database beside it is encrypted under it: ${remedy}`;
}

function textOf(key: Buffer): string {
  return `${key.toString('base64')}\n`;
}

const CAUSES: Record<string, string> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is a file',
  ENOENT: 'a part of the path is a link to nothing',
  EEXIST: 'it is a file',
  ENOSPC: 'the disk is full',
};

/** Why the data directory cannot be used, and what to do; undefined for an error that is not about the file system. */
export function unusableDataDir(dataDir: string, error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !(code in CAUSES)) return undefined;
  const remedy = 'make it writable for this user, or set WAYBILL_DATA_DIR to a directory that is';
  return `WAYBILL_DATA_DIR: ${dataDir} cannot be used, since ${CAUSES[code]} (${code}): ${remedy}`;
}
