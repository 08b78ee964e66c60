import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const KEY_BYTES = 32;
const OWNER_ONLY = 0o600;
/** The embedded database of a data directory, by the major version of Postgres. */
const CLUSTER = /^pg\d+$/;

/** 32 bytes in base64, either alphabet. */
export const MASTER_KEY_TEXT = /^[A-Za-z0-9+/_-]{43}=?$/;

/**
 * Embedded mode: the master key lies beside the data it protects, readable by its owner only, and is made at the first
 * start. Losing it makes the DKIM keys unreadable.
 */
export class StoredMasterKey {
  private readonly file: string;
  /** The key before the last change. */
  private readonly previousFile: string;

  constructor(private readonly dataDir: string) {
    this.file = join(dataDir, 'master.key');
    this.previousFile = join(dataDir, 'master.key.previous');
  }

  /** @throws when a database is there and its key is not: a new one would open nothing, and hide that the old one is lost */
  readOrCreate(): Buffer {
    // First: of two processes that start at once, one makes key and database while the other looks.
    const hasDatabase = existsSync(this.dataDir) && readdirSync(this.dataDir).some((name) => CLUSTER.test(name));
    if (!existsSync(this.file)) {
      if (hasDatabase) throw new Error(missingKey(this.file));
      mkdirSync(this.dataDir, { recursive: true, mode: 0o700 });
      try {
        writeFileSync(this.file, textOf(randomBytes(KEY_BYTES)), { mode: OWNER_ONLY, flag: 'wx' });
      } catch (error) {
        // Another process was faster: its key is the one.
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

  /** Whether the key in use is the stored one, and not one of the environment. */
  holds(key: Buffer): boolean {
    return existsSync(this.file) && readMasterKey(this.file).equals(key);
  }

  /** One that comes from elsewhere, with the data it belongs to. What was here is put aside. */
  install(key: Buffer): void {
    if (existsSync(this.file)) return this.replace(key);
    mkdirSync(this.dataDir, { recursive: true, mode: 0o700 });
    this.write(this.file, key);
  }

  /** The old key is put aside first: whatever happens in between, the files hold the key of every encrypted secret. */
  replace(key: Buffer): void {
    const current = this.readOrCreate();
    if (current.equals(key)) return;
    this.write(this.previousFile, current);
    this.write(this.file, key);
  }

  /** Whole or not at all. */
  private write(file: string, key: Buffer): void {
    writeFileSync(`${file}.new`, textOf(key), { mode: OWNER_ONLY, flush: true });
    renameSync(`${file}.new`, file);
  }
}

/** A copy, or a restored backup, may have left a file open to others. One of another user stays as it is. */
export function keepPrivate(file: string): void {
  try {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, OWNER_ONLY);
  } catch {
    // Its owner restricts it; reading it says what is wrong.
  }
}

/**
 * A key that an operator hands over: a file, or `env:NAME`.
 * @throws when there is none; the message never shows what was found
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

/** Why the data directory is of no use, and what to do; undefined for an error that says nothing of the file system. */
export function unusableDataDir(dataDir: string, error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !(code in CAUSES)) return undefined;
  const remedy = 'make it writable for this user, or set WAYBILL_DATA_DIR to a directory that is';
  return `WAYBILL_DATA_DIR: ${dataDir} cannot be used, since ${CAUSES[code]} (${code}): ${remedy}`;
}
